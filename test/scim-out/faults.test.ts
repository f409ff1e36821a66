/** A SCIM target that fails, is slow, or is away: nothing is lost, nobody is there twice, and nothing is sent out of order. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openWorld, type World } from './world.ts'

const minute = 60_000
const day = 24 * 60 * minute

describe.each(anyBackend)('a failing SCIM target on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    // Names may be there twice: what was created twice shows.
    world = await openWorld(backend, { unique: false })
  })
  afterEach(() => world.close())

  const later = async (ms: number): Promise<void> => {
    world.clock.now += ms
    await world.settled()
  }
  const status = async (target: string) =>
    (await world.send('GET', `/scim-targets/${target}/status`)).body

  it('gets the latest state of every user once after a day without answers', async () => {
    const target = await world.target()
    const leaver = await world.addUser('leaver')
    const mover = await world.addUser('mover')
    await world.settled()
    world.peer.fail(() => ({ status: 503 }))
    for (const lastName of ['One', 'Two', 'Three']) {
      await world.changeUser(mover, { lastName })
      await world.settled()
    }
    await world.changeUser(leaver, { enabled: false })
    await world.addUser('joiner')
    await later(day / 2)
    await later(day / 2)
    expect((await status(target)).users.waiting).toBe(3)
    expect((await status(target)).lastError).toContain('503')
    // The queue does not grow while the target is away (authentik#16314).
    const jobs = await world.server.areas.storage.db
      .selectFrom('jobs')
      .select('id')
      .where('queue', '=', 'scim-out')
      .execute()
    expect(jobs.length).toBeLessThanOrEqual(2)
    world.peer.fail(() => undefined)
    world.peer.asked.length = 0
    await later(20 * minute)
    await later(20 * minute)
    expect(world.active()).toEqual(['joiner', 'mover'])
    expect(world.peer.user('mover')?.['name'].familyName).toBe('Three')
    expect(world.peer.user('leaver')?.['active']).toBe(false)
    // One request per user who has been there before, however often they changed.
    expect(world.peer.writes().filter(({ method }) => method === 'PATCH')).toHaveLength(2)
    expect((await status(target)).lastError).toBeNull()
  })

  const html = {
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><title>Maintenance</title>',
  }

  it.each([
    ['a page for people', html],
    ['a page for people as SCIM', { status: 200, body: html.body }],
    ['a list', { status: 200, body: [] }],
    ['a text', { status: 200, body: '"ok"' }],
  ])('gets the leaver again after it answered %s with 200', async (_, fault) => {
    const target = await world.target()
    const leaver = await world.addUser('leaver')
    const gone = await world.addUser('gone')
    await world.settled()
    world.peer.fail(() => fault)
    await world.changeUser(leaver, { enabled: false })
    await world.send('DELETE', `/users/${gone}`)
    await world.settled()
    expect((await status(target)).users.waiting).toBe(2)
    expect(JSON.stringify(await status(target))).toContain('is answered 200 with something else')
    world.peer.fail(() => undefined)
    await later(20 * minute)
    await later(20 * minute)
    expect(world.active()).toEqual([])
    expect((await status(target)).users.waiting).toBe(0)
  })

  it('gets no new user while it answers lists with an HTML page, and no user is forgotten', async () => {
    await world.target()
    world.peer.fail(({ method }) => (method === 'POST' ? 'lost' : undefined))
    const joiner = await world.addUser('joiner')
    await world.settled()
    expect(world.active()).toEqual(['joiner'])
    for (const body of [html.body, { message: 'maintenance' }]) {
      world.peer.fail(({ method }) => (method === 'GET' ? { ...html, body } : undefined))
      await later(20 * minute)
    }
    await world.send('DELETE', `/users/${joiner}`)
    await later(20 * minute)
    expect(world.peer.writes().filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(world.active()).toEqual(['joiner'])
    world.peer.fail(() => undefined)
    await later(day)
    expect(world.active()).toEqual([])
  })

  it('takes a success without a body for one (RFC 7644 §3.5.2)', async () => {
    await world.target()
    const user = await world.addUser('quiet')
    await world.settled()
    world.peer.fail(({ method }) => (method === 'PATCH' ? { status: 200, body: '' } : undefined))
    await world.changeUser(user, { lastName: 'Quiet' })
    await world.settled()
    world.peer.fail(() => undefined)
    world.peer.asked.length = 0
    await later(20 * minute)
    expect(world.peer.writes()).toEqual([])
  })

  it('gets a user once although the answer to the create was lost', async () => {
    await world.target()
    let lost = 0
    world.peer.fail(({ method }) => {
      if (method !== 'POST' || lost >= 2) return undefined
      lost += 1
      return 'lost'
    })
    for (const name of ['ann', 'ben', 'cem']) await world.addUser(name)
    await world.settled()
    await later(2 * minute)
    await later(5 * minute)
    expect(lost).toBe(2)
    expect(world.active()).toEqual(['ann', 'ben', 'cem'])
    expect(world.peer.users.size).toBe(3)
  })

  it('removes a user whose create was lost and who was deleted meanwhile', async () => {
    await world.target({ deprovision: 'delete' })
    world.peer.fail(({ method }) => (method === 'POST' ? 'lost' : undefined))
    const id = await world.addUser('ghost')
    await world.settled()
    expect(world.peer.users.size).toBe(1)
    world.peer.fail(() => undefined)
    await world.send('DELETE', `/users/${id}`)
    await later(5 * minute)
    await later(5 * minute)
    expect(world.peer.users.size).toBe(0)
  })

  it.each([
    ['NUL', 'no\u0000thing'],
    ['half a character', 'a \ud83d fault'],
    ['a character that is cut in half', `${'x'.repeat(199)}\u{1f600}`],
  ])('that explains a refusal with %s holds up nobody else', async (_, detail) => {
    const target = await world.target()
    world.peer.fail(({ method, body }) =>
      method === 'POST' && body?.userName === 'odd' ? { status: 400, body: { detail } } : undefined,
    )
    for (const name of ['odd', 'ann', 'ben']) await world.addUser(name)
    await world.settled()
    expect(world.active()).toEqual(['ann', 'ben'])
    expect((await status(target)).users).toMatchObject({ waiting: 1, failed: 1 })
  })

  it.each([
    ['NUL', '\u0000'],
    ['half a character', '\ud800'],
    ['thousands of characters', Array.from({ length: 9000 }, (_, i) => i * i).join('')],
  ])('that gives a user an id of %s holds up nobody else', async (_, id) => {
    const target = await world.target()
    world.peer.fail(({ method, body }) =>
      method === 'POST' && body?.userName === 'odd' ? { status: 201, body: { id } } : undefined,
    )
    for (const name of ['odd', 'ann', 'ben']) await world.addUser(name)
    await world.settled()
    expect(world.active()).toEqual(['ann', 'ben'])
    expect((await status(target)).users).toMatchObject({ waiting: 1, failed: 1 })
  })

  it('gets no request before the time of its Retry-After (RFC 6585 §4)', async () => {
    await world.target()
    world.peer.fail(() => ({ status: 429, headers: { 'retry-after': '3600' } }))
    await world.addUser('ann')
    await world.settled()
    const before = world.peer.asked.length
    world.peer.fail(() => undefined)
    await world.addUser('ben')
    await later(50 * minute)
    expect(world.peer.asked).toHaveLength(before)
    await later(15 * minute)
    await later(2 * minute)
    expect(world.active()).toEqual(['ann', 'ben'])
  })

  it('gets all other users when it refuses one, and that user later', async () => {
    const target = await world.target()
    world.peer.fail(({ method, body }) =>
      method === 'POST' && body.userName === 'bad' ? { status: 400 } : undefined,
    )
    for (const name of ['ann', 'bad', 'cem']) await world.addUser(name)
    await world.settled()
    expect(world.active()).toEqual(['ann', 'cem'])
    const { users, failures } = await status(target)
    expect(users).toEqual({ known: 2, waiting: 1, failed: 1 })
    expect(failures).toEqual([
      expect.objectContaining({
        kind: 'user',
        name: 'bad',
        problem: expect.stringContaining('400'),
      }),
    ])
    world.peer.fail(() => undefined)
    await later(2 * minute)
    expect(world.active()).toEqual(['ann', 'bad', 'cem'])
  })

  it.each(['default', 'put'])(
    'gets the deactivation of a leaver although it refuses another change of the user (%s)',
    async (compatibility) => {
      const target = await world.target({ compatibility })
      const id = await world.addUser('leaver')
      await world.settled()
      world.peer.fail(({ body }) =>
        JSON.stringify(body ?? '').includes('Refused') ? { status: 400 } : undefined,
      )
      await world.changeUser(id, { lastName: 'Refused', enabled: false })
      await world.settled()
      expect(world.peer.user('leaver')?.['active']).toBe(false)
      expect((await status(target)).failures[0]).toMatchObject({ name: 'leaver' })
    },
  )

  it('gets a few requests and then a pause when it fails for every user', async () => {
    await world.target()
    world.peer.fail(() => ({ status: 500 }))
    for (let i = 0; i < 40; i += 1) await world.addUser(`user-${i}`)
    await world.settled()
    expect(world.peer.asked.length).toBeLessThan(20)
    world.peer.fail(() => undefined)
    await later(2 * minute)
    await later(5 * minute)
    expect(world.active()).toHaveLength(40)
  })

  it('gets a few requests and then a pause at a wrong address', async () => {
    for (let i = 0; i < 60; i += 1) await world.addUser(`user-${i}`)
    world.peer.fail(() => ({ status: 404 }))
    await world.target()
    expect(world.peer.asked.length).toBeLessThan(40)
    world.peer.fail(() => undefined)
    await later(10 * minute)
    await later(10 * minute)
    expect(world.active()).toHaveLength(60)
  })

  it('does not delay a stop of the server by a missing answer, and gets the user after the next start', async () => {
    await world.target()
    world.peer.fail(({ method }) => (method === 'POST' ? 'hang' : undefined))
    await world.addUser('ann')
    await expect.poll(() => world.peer.writes().length).toBe(1)
    await world.restart()
    world.peer.fail(() => undefined)
    await world.settled()
    await later(2 * minute)
    expect(world.active()).toEqual(['ann'])
    expect(world.peer.users.size).toBe(1)
  })

  it('gets every user once its wrong token is replaced', async () => {
    const target = await world.target()
    world.peer.token = 'another token'
    await world.addUser('ann')
    await world.settled()
    expect((await status(target)).lastError).toContain('401')
    await world.change(target, { token: 'another token' })
    expect(world.active()).toEqual(['ann'])
  })

  it('gets a user again that it lost', async () => {
    await world.target()
    const id = await world.addUser('ann')
    await world.settled()
    world.peer.users.clear()
    await world.changeUser(id, { lastName: 'Again' })
    await world.settled()
    expect(world.peer.user('ann')?.['name'].familyName).toBe('Again')
    world.peer.users.clear()
    await world.send('DELETE', `/users/${id}`)
    await world.settled()
    expect(world.peer.users.size).toBe(0)
  })

  it('never gives the account of one person to another who takes over the username', async () => {
    await world.target()
    const first = await world.addUser('smith')
    await world.settled()
    // The account still has the old name when the new person is looked for.
    world.peer.fail(({ body }) =>
      JSON.stringify(body ?? '').includes('smith-old') ? { status: 400 } : undefined,
    )
    await world.changeUser(first, { username: 'smith-old', email: 'old@acme.example' })
    const second = await world.addUser('smith')
    await world.settled()
    world.peer.fail(() => undefined)
    await later(2 * minute)
    await later(5 * minute)
    expect(world.peer.user('smith')?.['externalId']).toBe(second)
    expect(world.peer.user('smith-old')?.['externalId']).toBe(first)
    expect(world.peer.users.size).toBe(2)
  })
})
