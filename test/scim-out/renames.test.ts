/** Usernames that change hands between users whom a target has: it takes each of them once, and refuses one that is still held. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openWorld, type World } from './world.ts'

const minute = 60_000

describe.each(anyBackend)('usernames that change hands at a SCIM target on $name', (backend) => {
  let world: World
  let target: string

  beforeEach(async () => {
    world = await openWorld(backend)
  })
  afterEach(() => world.close())

  const status = async () => (await world.send('GET', `/scim-targets/${target}/status`)).body

  /** The names get to the target together: it hears of nothing before all of them are changed. */
  const rename = async (names: Readonly<Record<string, string>>, more: object = {}) => {
    await world.change(target, { enabled: false })
    for (const id of Object.keys(names))
      await world.changeUser(id, { username: `on-the-way-${id}` })
    for (const [id, username] of Object.entries(names)) await world.changeUser(id, { username })
    await world.change(target, { enabled: true, ...more })
  }
  /** Usernames at the target by the id of the user here. */
  const there = (): Record<string, string> =>
    Object.fromEntries(
      [...world.peer.users.values()].map(({ externalId, userName }) => [externalId, userName]),
    )

  it('two users swap their usernames', async () => {
    target = await world.target()
    const [ann, ben] = [await world.addUser('ann'), await world.addUser('ben')]
    await world.settled()
    world.peer.asked.length = 0
    await rename({ [ann]: 'ben', [ben]: 'ann' })
    expect(there()).toEqual({ [ann]: 'ben', [ben]: 'ann' })
    expect((await status()).users).toEqual({ known: 2, waiting: 0, failed: 0 })
    expect(world.peer.writes().map(({ method }) => method)).not.toContain('POST')
  })

  it.each([
    ['in a chain', ['b', 'c', 'd', 'e']],
    ['in a circle', ['b', 'c', 'd', 'a']],
  ])('are passed on %s', async (_, names) => {
    target = await world.target()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd']) ids.push(await world.addUser(name))
    await world.settled()
    const wanted = Object.fromEntries(ids.map((id, i) => [id, names[i] ?? '']))
    await rename(wanted)
    expect(there()).toEqual(wanted)
    expect((await status()).users).toMatchObject({ waiting: 0, failed: 0 })
  })

  it('two users swap usernames that are addresses at a target without PATCH', async () => {
    target = await world.target({ compatibility: 'put' })
    const ann = await world.addUser('ann@acme.example', { email: 'a@acme.example' })
    const ben = await world.addUser('ben@acme.example', { email: 'b@acme.example' })
    await world.settled()
    world.peer.fail(({ body }) =>
      body?.userName?.endsWith('@acme.example') === false ? { status: 400 } : undefined,
    )
    const wanted = { [ann]: 'ben@acme.example', [ben]: 'ann@acme.example' }
    await rename(wanted)
    expect(there()).toEqual(wanted)
    expect(world.peer.writes().map(({ method }) => method)).not.toContain('PATCH')
  })

  it('two users of different parts of a run swap their usernames', async () => {
    target = await world.target({ syncGroups: false })
    const ann = await world.addUser('ann')
    for (let i = 0; i < 120; i += 1) await world.addUser(`other-${i}`)
    const ben = await world.addUser('ben')
    await world.settled()
    // All of them change, and so more than one part is sent.
    await rename({ [ann]: 'ben', [ben]: 'ann' }, { mapping: { title: 'lastName' } })
    expect(there()).toMatchObject({ [ann]: 'ben', [ben]: 'ann' })
    expect(world.peer.user('ann')?.['title']).toBe('ben')
    expect((await status()).users).toMatchObject({ waiting: 0, failed: 0 })
  })

  it('a swap is finished after the target was away in the middle of it', async () => {
    target = await world.target()
    const [ann, ben] = [await world.addUser('ann'), await world.addUser('ben')]
    await world.settled()
    world.peer.fail(({ body }) => {
      const isMoved = [...world.peer.users.values()].some(({ userName }) =>
        userName.startsWith('moved-'),
      )
      return isMoved && body !== undefined ? { status: 503 } : undefined
    })
    await rename({ [ann]: 'ben', [ben]: 'ann' })
    expect(Object.values(there()).filter((name) => name.startsWith('moved-'))).toHaveLength(1)
    world.peer.fail(() => undefined)
    for (const ms of [2 * minute, 5 * minute, 5 * minute]) {
      world.clock.now += ms
      await world.settled()
    }
    expect(there()).toEqual({ [ann]: 'ben', [ben]: 'ann' })
  })

  it('a new user gets a username at once whose former holder was renamed', async () => {
    target = await world.target()
    const first = await world.addUser('smith')
    await world.settled()
    await world.change(target, { enabled: false })
    await world.changeUser(first, { username: 'smith-old', email: 'old@acme.example' })
    const second = await world.addUser('smith')
    // The former holder is refused once, and would be tried again in a minute.
    let refused = 0
    world.peer.fail(({ method }) => {
      if (method !== 'PATCH' || refused > 0) return undefined
      refused += 1
      return { status: 400 }
    })
    await world.change(target, { enabled: true })
    expect(there()).toEqual({ [first]: 'smith-old', [second]: 'smith' })
  })

  it.each(['default', 'put'])(
    'groups swap their names, and a new group gets a name that became free (%s)',
    async (compatibility) => {
      target = await world.target({ compatibility })
      const group = async (name: string): Promise<string> =>
        (await world.send('POST', '/groups', { name })).body.groupId
      const [sales, support] = [await group('sales'), await group('support')]
      const ann = await world.addUser('ann')
      await world.send('PUT', `/groups/${sales}/members/${ann}`)
      await world.settled()
      expect(world.peer.membersOf('sales')).toEqual(['ann'])
      await world.change(target, { enabled: false })
      const names: [string, string][] = [
        [sales, 'on-the-way'],
        [support, 'sales'],
        [sales, 'support'],
      ]
      for (const [id, name] of names)
        expect((await world.send('PUT', `/groups/${id}`, { name })).status).toBe(200)
      await world.change(target, { enabled: true })
      expect(world.peer.membersOf('support')).toEqual(['ann'])
      expect(world.peer.membersOf('sales')).toEqual([])
      await world.change(target, { enabled: false })
      await world.send('PUT', `/groups/${sales}`, { name: 'others' })
      await group('support')
      await world.change(target, { enabled: true })
      expect([...world.peer.groups.values()].map(({ displayName }) => displayName).sort()).toEqual([
        'others',
        'sales',
        'support',
      ])
      expect(world.peer.membersOf('others')).toEqual(['ann'])
      expect((await status()).groups).toMatchObject({ waiting: 0, failed: 0 })
    },
  )

  it('an account of the target alone keeps its username, and the status shows the refusal', async () => {
    target = await world.target({ matchOn: 'externalId' })
    world.peer.users.set('own', { id: 'own', userName: 'boss', active: true, externalId: 'x' })
    const ann = await world.addUser('ann')
    await world.settled()
    world.peer.asked.length = 0
    await world.changeUser(ann, { username: 'boss' })
    await world.settled()
    expect(there()).toEqual({ x: 'boss', [ann]: 'ann' })
    expect((await status()).failures[0].problem).toContain('409')
    expect(world.peer.writes()).toHaveLength(1)
  })
})
