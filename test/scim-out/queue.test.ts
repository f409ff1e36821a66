/** What waits for SCIM targets: nothing for those that are disabled or gone, one row a user for those that are away. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openScimPeer } from './scim-peer.ts'
import { openWorld, type World } from './world.ts'

const minute = 60_000

describe.each(anyBackend)('the queue of SCIM targets on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(backend, { unique: false })
  })
  afterEach(() => world.close())

  const later = async (ms: number): Promise<void> => {
    world.clock.now += ms
    await world.settled()
  }
  const status = async (target: string) =>
    (await world.send('GET', `/scim-targets/${target}/status`)).body
  /** Rows of notes, marks and jobs. */
  const rows = async () => {
    const { db } = world.server.areas.storage
    const [notes, marks, jobs] = await Promise.all([
      db.selectFrom('user_changes').select('id').execute(),
      db.selectFrom('scim_resources').select('local_id').execute(),
      db.selectFrom('jobs').select('id').where('queue', '=', 'scim-out').execute(),
    ])
    return { notes: notes.length, marks: marks.length, jobs: jobs.length }
  }

  it('stays empty in a realm without an enabled target (authentik#6836)', async () => {
    const nothing = { notes: 0, marks: 0, jobs: 0 }
    const ann = await world.addUser('ann')
    expect(await rows()).toEqual(nothing)
    await world.target({ enabled: false })
    await world.changeUser(ann, { lastName: 'Changed' })
    await world.addUser('ben')
    await world.settled()
    expect(await rows()).toEqual(nothing)
    expect(world.peer.asked).toEqual([])
  })

  it('drops the jobs of a deleted target', async () => {
    const target = await world.target()
    world.peer.fail(() => ({ status: 503 }))
    for (const name of ['ann', 'ben']) await world.addUser(name)
    await world.settled()
    const { marks, jobs } = await rows()
    expect([marks, jobs > 0]).toEqual([2, true])
    expect((await world.send('DELETE', `/scim-targets/${target}`)).status).toBe(204)
    await world.addUser('cem')
    await later(20 * minute)
    expect(await rows()).toEqual({ notes: 0, marks: 0, jobs: 0 })
  })

  it('serves the other targets while one is away', async () => {
    const second = await openScimPeer({ unique: false })
    try {
      await world.target()
      await world.target({ name: 'wiki', baseUrl: second.url, token: second.token })
      world.peer.fail(() => ({ status: 429, headers: { 'retry-after': '3600' } }))
      const asked = world.peer.asked.length
      for (const name of ['ann', 'ben', 'cem']) {
        await world.addUser(name)
        await world.settled()
      }
      expect([...second.users.values()].map(({ userName }) => userName).sort()).toEqual([
        'ann',
        'ben',
        'cem',
      ])
      // Once it has said how long to wait it is not asked again, whoever changes.
      expect(world.peer.asked.length - asked).toBe(1)
      expect(world.active()).toEqual([])
      world.peer.fail(() => undefined)
      await later(61 * minute)
      await later(2 * minute)
      expect(world.active()).toEqual(['ann', 'ben', 'cem'])
    } finally {
      await second.close()
    }
  })

  it('waits until the date of a Retry-After (RFC 9110 §10.2.3)', async () => {
    await world.target()
    const until = new Date(world.clock.now + 30 * minute).toUTCString()
    world.peer.fail(() => ({ status: 503, headers: { 'retry-after': until } }))
    await world.addUser('ann')
    await world.settled()
    world.peer.fail(() => undefined)
    const asked = world.peer.asked.length
    await later(28 * minute)
    expect(world.peer.asked).toHaveLength(asked)
    await later(3 * minute)
    await later(2 * minute)
    expect(world.active()).toEqual(['ann'])
  })

  it('continues an interrupted initial sync, and the status shows its progress', async () => {
    for (let i = 0; i < 260; i += 1) await world.addUser(`user-${i}`)
    world.peer.fail(() =>
      world.peer.writes().length > 120 ? { status: 503, detail: 'maintenance' } : undefined,
    )
    const target = await world.target({ syncGroups: false })
    const cut = await status(target)
    expect(cut.users.known).toBe(120)
    expect(cut.users.known + cut.users.waiting).toBe(260)
    expect(cut.lastError).toContain('503: maintenance')
    await world.restart()
    world.peer.fail(() => undefined)
    world.peer.asked.length = 0
    await later(2 * minute)
    await later(2 * minute)
    expect(world.active()).toHaveLength(260)
    // Nobody who was there is asked for again.
    expect(world.peer.writes()).toHaveLength(140)
    expect(await status(target)).toMatchObject({
      lastError: null,
      users: { known: 260, waiting: 0, failed: 0 },
    })
  })

  it('removes members in requests of a hundred', async () => {
    const { body } = await world.send('POST', '/groups', { name: 'all' })
    const ids: string[] = []
    for (let i = 0; i < 130; i += 1) {
      const id = await world.addUser(`user-${i}`)
      await world.send('PUT', `/groups/${body.groupId}/members/${id}`)
      ids.push(id)
    }
    const target = await world.target()
    expect(world.peer.membersOf('all')).toHaveLength(130)
    await world.change(target, { enabled: false })
    for (const id of ids.slice(0, 120))
      await world.send('DELETE', `/groups/${body.groupId}/members/${id}`)
    world.peer.asked.length = 0
    await world.change(target, { enabled: true })
    expect(world.peer.membersOf('all')).toHaveLength(10)
    const sizes = world.peer
      .writes()
      .filter(({ path }) => path.startsWith('/Groups/'))
      .map(({ body: { Operations } }) => Operations.length)
    expect(sizes).toEqual([100, 20])
  })
})
