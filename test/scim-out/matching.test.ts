/** Users whom a target already has, filters that leave people out, the guard, and what becomes of those who leave. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openScimPeer } from './scim-peer.ts'
import { openWorld, type World } from './world.ts'

describe.each(anyBackend)('a SCIM target on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(backend)
  })
  afterEach(() => world.close())

  const there = (userName: string, more: object = {}): void => {
    const id = `own-${world.peer.users.size + 1}`
    world.peer.users.set(id, { id, userName, active: true, ...more })
  }
  const status = async (target: string) =>
    (await world.send('GET', `/scim-targets/${target}/status`)).body
  const reconcile = (target: string, query = '') =>
    world.send('POST', `/scim-targets/${target}/reconcile${query}`)

  it('adopts users of the same username, and changes what differs (authentik#12827)', async () => {
    there('ann', { displayName: 'Somebody' })
    const id = await world.addUser('ann')
    await world.target()
    expect(world.peer.users.size).toBe(1)
    expect(world.peer.user('ann')).toMatchObject({
      id: 'own-1',
      externalId: id,
      displayName: 'First ann',
    })
    expect(world.peer.writes().map(({ method }) => method)).toEqual(['PATCH'])
  })

  it('adopts by a 409 when the target does not find what it has', async () => {
    there('ann')
    world.peer.fail(({ method, query }) => {
      const isFirst = world.peer.asked.filter((one) => one.query === query).length === 1
      return method === 'GET' && isFirst ? { status: 400 } : undefined
    })
    await world.addUser('ann')
    await world.target()
    world.clock.now += 120_000
    await world.settled()
    expect(world.peer.users.size).toBe(1)
    expect(world.peer.user('ann')?.['displayName']).toBe('First ann')
  })

  it('keeps an account of another externalId where users match on externalId', async () => {
    there('ann', { externalId: 'another person' })
    await world.addUser('ann')
    const target = await world.target({ matchOn: 'externalId' })
    expect(world.peer.user('ann')?.['displayName']).toBeUndefined()
    expect((await status(target)).failures[0].problem).toContain('409')
  })

  it('gets no user outside its filter, and users that fall out of it are deactivated', async () => {
    const staff = await world.addUser('ann', { attributes: { kind: ['staff'] } })
    await world.addUser('ben', { attributes: { kind: ['guest'] } })
    await world.target({ filter: 'attributes.kind eq "staff"' })
    expect(world.active()).toEqual(['ann'])
    expect(world.peer.users.size).toBe(1)
    await world.changeUser(staff, { attributes: { kind: ['guest'] } })
    await world.settled()
    expect(world.peer.user('ann')?.['active']).toBe(false)
    await world.changeUser(staff, { attributes: { kind: ['staff'] } })
    await world.settled()
    expect(world.active()).toEqual(['ann'])
  })

  it('filters by groups, also when a group is renamed', async () => {
    const ann = await world.addUser('ann')
    await world.addUser('ben')
    const { body } = await world.send('POST', '/groups', { name: 'chat-users' })
    await world.send('PUT', `/groups/${body.groupId}/members/${ann}`)
    await world.target({ filter: 'groups eq "chat-users"', deprovision: 'delete' })
    expect(world.active()).toEqual(['ann'])
    await world.send('PUT', `/groups/${body.groupId}`, { name: 'others' })
    await world.settled()
    expect(world.peer.users.size).toBe(0)
    await world.send('PUT', `/groups/${body.groupId}`, { name: 'chat-users' })
    await world.settled()
    expect(world.active()).toEqual(['ann'])
  })

  it.each([
    ['userName eq alice', /in quotes/],
    ['userName is "x"', /no operator/],
    [`(${'('.repeat(10)}a pr`, /nested more than 5/],
  ])('is refused with the filter %s', async (filter, reason) => {
    const answer = await world.send('POST', '/scim-targets', {
      name: 'x',
      baseUrl: world.peer.url,
      filter,
    })
    expect(answer.status).toBe(400)
    expect(answer.body.errors[0]).toMatchObject({
      field: '/filter',
      message: expect.stringMatching(reason),
    })
  })

  it('gets all users anew at another address, since an id there may be that of another person', async () => {
    // Certificates are trusted that are known at the first request.
    const other = await openScimPeer()
    const ann = await world.addUser('ann')
    const { body } = await world.send('POST', '/groups', { name: 'all' })
    await world.send('PUT', `/groups/${body.groupId}/members/${ann}`)
    const target = await world.target()
    const [id = '', group = ''] = [world.peer.user('ann')?.id, world.peer.group('all')?.id]
    try {
      other.users.set(id, { id, userName: 'boss', displayName: 'The boss', active: true })
      other.groups.set(group, { id: group, displayName: 'admins', members: [] })
      const moved = { baseUrl: other.url, token: other.token }
      await world.change(target, { ...moved, enabled: false })
      const dry = await reconcile(target, '?dryRun=true')
      expect(dry.body, JSON.stringify(dry.body)).toMatchObject({
        created: 2,
        updated: 0,
        removed: 0,
      })
      await world.change(target, { ...moved, enabled: true })
      expect(other.users.get(id)).toMatchObject({ userName: 'boss', displayName: 'The boss' })
      expect(other.groups.get(group)).toMatchObject({ displayName: 'admins', members: [] })
      expect(other.user('ann')).toMatchObject({ externalId: ann, active: true })
      expect(other.membersOf('all')).toEqual(['ann'])
      // A slash at the end is the same address.
      other.asked.length = 0
      await world.change(target, { baseUrl: `${other.url}/` })
      expect(other.asked).toEqual([])
      await world.changeUser(ann, { enabled: false })
      await world.settled()
      expect(other.user('ann')?.['active']).toBe(false)
    } finally {
      await other.close()
    }
  })

  it('deletes leavers where deprovision is delete', async () => {
    const id = await world.addUser('ann')
    await world.target({ deprovision: 'delete' })
    await world.send('DELETE', `/users/${id}`)
    await world.settled()
    expect(world.peer.users.size).toBe(0)
  })

  it.each([
    ['userName', ['ann'], null],
    ['externalId', [], '409'],
  ])(
    'matched on %s has the active users %j after a user was made again under the same username',
    async (matchOn, active, problem) => {
      const target = await world.target({ matchOn })
      const first = await world.addUser('ann')
      await world.settled()
      const { id } = world.peer.user('ann') ?? {}
      await world.send('DELETE', `/users/${first}`)
      await world.settled()
      expect(world.active()).toEqual([])
      await world.addUser('ann')
      await world.settled()
      expect(world.active()).toEqual(active)
      expect([...world.peer.users.keys()]).toEqual([id])
      const { failures } = await status(target)
      expect(failures.map((one: { problem: string }) => one.problem)).toEqual(
        problem === null ? [] : [expect.stringContaining(problem)],
      )
    },
  )

  it('gets mass removals only after an administrator allowed them', async () => {
    for (let i = 0; i < 30; i += 1)
      await world.addUser(`user-${i}`, { attributes: { kind: ['staff'] } })
    const target = await world.target()
    expect(world.active()).toHaveLength(30)
    await world.change(target, { filter: 'attributes.kind eq "stuff"' })
    expect(world.active()).toHaveLength(30)
    const held = await status(target)
    expect(held.held).toBe(30)
    expect(held.lastError).toContain('--allow-removals 30')
    const refused = await reconcile(target)
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toContain('30')
    // Others are sent all the same.
    await world.addUser('new', { attributes: { kind: ['stuff'] } })
    await world.settled()
    expect(world.active()).toHaveLength(31)
    const allowed = await reconcile(target, '?allowRemovals=30')
    expect(allowed.status, JSON.stringify(allowed.body)).toBe(200)
    await world.settled()
    expect(world.active()).toEqual(['new'])
    expect((await status(target)).held).toBe(0)
  })

  it('gets every leaver that comes during a long run', async () => {
    const ids: string[] = []
    for (let i = 0; i < 130; i += 1) ids.push(await world.addUser(`user-${i}`))
    const target = await world.target()
    // Each request of the run makes another leaver, far more than are removed at once.
    let left = 0
    const leaving: Promise<unknown>[] = []
    world.peer.fail(({ method }) => {
      if (method === 'PATCH' && left < 40) {
        left += 1
        leaving.push(world.changeUser(ids[left] ?? '', { enabled: false }))
      }
      return undefined
    })
    await world.changeUser(ids[0] ?? '', { enabled: false })
    await expect.poll(() => left, { timeout: 60_000 }).toBe(40)
    await Promise.all(leaving)
    await world.settled()
    expect(world.active()).toHaveLength(130 - 41)
    expect((await status(target)).held).toBe(0)
  })

  it('reconciles differences after a dry run has shown them', async () => {
    const ann = await world.addUser('ann')
    await world.addUser('ben')
    const target = await world.target()
    there('stranger')
    const remote = world.peer.user('ann')
    if (remote) remote['displayName'] = 'Changed there'
    world.peer.users.delete(world.peer.user('ben')?.id ?? '')
    world.peer.asked.length = 0
    const dry = await reconcile(target, '?dryRun=true')
    expect(dry.status, JSON.stringify(dry.body)).toBe(200)
    expect(dry.body).toMatchObject({
      dryRun: true,
      created: 1,
      updated: 1,
      removed: 0,
      strangers: 1,
    })
    expect(dry.body.changes).toEqual(
      expect.arrayContaining([
        {
          op: 'update',
          kind: 'user',
          name: 'ann',
          fields: [{ field: 'displayName', before: 'Changed there', after: 'First ann' }],
        },
        { op: 'create', kind: 'user', name: 'ben', fields: [] },
      ]),
    )
    await world.settled()
    expect(world.peer.writes()).toEqual([])
    expect((await reconcile(target)).status).toBe(200)
    await world.settled()
    expect(world.peer.user('ann')).toMatchObject({ displayName: 'First ann', externalId: ann })
    expect(world.active()).toEqual(['ann', 'ben', 'stranger'])
    const again = await reconcile(target, '?dryRun=true')
    expect(again.body.changes).toEqual([])
  })

  it('reconciles groups: one of the same name is adopted, and a deleted one is told by its name', async () => {
    await world.addUser('extra')
    there('extra')
    const members = [...world.peer.users.keys(), 'stranger'].map((value) => ({ value }))
    world.peer.groups.set('own-staff', { id: 'own-staff', displayName: 'staff', members })
    const group = async (name: string): Promise<string> =>
      (await world.send('POST', '/groups', { name })).body.groupId
    await group('staff')
    const gone = await group('gone')
    const target = await world.target({ enabled: false })
    const planned = async () =>
      (await reconcile(target, '?dryRun=true')).body.changes.map(
        ({ op, name }: { op: string; name: string }) => `${op} ${name}`,
      )
    expect(await planned()).toEqual(['adopt extra', 'create gone', 'adopt staff'])
    await world.change(target, { enabled: true })
    expect([...world.peer.groups.values()].map(({ displayName }) => displayName)).toEqual([
      'staff',
      'gone',
    ])
    // Members that it had stay until then; those that are users of the realm go.
    expect(await planned()).toEqual(['update staff'])
    expect((await reconcile(target)).status).toBe(200)
    await world.settled()
    expect(world.peer.group('staff')?.['members']).toMatchObject([{ value: 'stranger' }])
    expect(await planned()).toEqual([])
    world.peer.fail(({ method }) => (method === 'DELETE' ? { status: 400 } : undefined))
    await world.send('DELETE', `/groups/${gone}`)
    await world.settled()
    expect(await planned()).toEqual(['delete gone'])
  })

  it('sends large groups a hundred members at a time (FusionAuth#2784)', async () => {
    const { body } = await world.send('POST', '/groups', { name: 'all' })
    for (let i = 0; i < 230; i += 1) {
      const id = await world.addUser(`user-${i}`)
      await world.send('PUT', `/groups/${body.groupId}/members/${id}`)
    }
    await world.target()
    expect(world.peer.membersOf('all')).toHaveLength(230)
    const sizes = world.peer
      .writes()
      .filter(({ path, method }) => path.startsWith('/Groups/') && method === 'PATCH')
      .map(({ body: { Operations } }) => Operations[0].value.length)
    expect(sizes).toEqual([100, 100, 30])
  })

  it('gets whole resources where it has no PATCH', async () => {
    const id = await world.addUser('ann')
    await world.target({ compatibility: 'put' })
    await world.changeUser(id, { lastName: 'Put' })
    await world.settled()
    expect(world.peer.user('ann')?.['name'].familyName).toBe('Put')
    await world.send('DELETE', `/users/${id}`)
    await world.settled()
    expect(world.peer.user('ann')?.['active']).toBe(false)
    expect(world.peer.writes().map(({ method }) => method)).not.toContain('PATCH')
  })
})
