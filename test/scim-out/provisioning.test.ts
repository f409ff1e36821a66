/** Users and groups of a realm reach a SCIM target, whatever changed them (RFC 7644 §3). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openWorld, type World } from './world.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

describe.each(anyBackend)('a SCIM target on $name', (backend) => {
  let world: World
  let target: string

  beforeAll(async () => {
    world = await openWorld(backend)
    target = await world.target({
      mapping: {
        title: 'attributes.title',
        [`${enterprise}:department`]: 'attributes.department',
        'phoneNumbers[type eq "work"].value': 'attributes.phone',
      },
    })
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    await world.settled()
    world.peer.asked.length = 0
  })

  it('gets a new user with name, address and mapped attributes', async () => {
    const id = await world.addUser('alice', {
      attributes: { title: ['Engineer'], department: ['R&D'], phone: ['+31 20 123'] },
    })
    await world.settled()
    expect(world.peer.user('alice')).toMatchObject({
      externalId: id,
      active: true,
      displayName: 'First alice',
      name: { givenName: 'First', familyName: 'alice' },
      emails: [{ value: 'alice@acme.example', type: 'work', primary: true }],
      title: 'Engineer',
      phoneNumbers: [{ type: 'work', value: '+31 20 123' }],
      [enterprise]: { department: 'R&D' },
    })
    expect(world.peer.asked[0]?.authorization).toBe('Bearer a token')
  })

  it('gets a change as a PATCH of nothing but what changed', async () => {
    const { body } = await world.send('GET', '/users/alice')
    await world.changeUser(body.userId, { lastName: 'Ames' })
    await world.settled()
    expect(world.peer.writes()).toHaveLength(1)
    expect(world.peer.writes()[0]?.body.Operations).toEqual([
      { op: 'replace', path: 'name', value: { givenName: 'First', familyName: 'Ames' } },
      { op: 'replace', path: 'displayName', value: 'First Ames' },
    ])
    expect(world.peer.user('alice')?.['name'].familyName).toBe('Ames')
  })

  it('gets no request for a change of an attribute that is not sent', async () => {
    const { body } = await world.send('GET', '/users/alice')
    await world.changeUser(body.userId, { requiredActions: ['UPDATE_PASSWORD'] })
    await world.settled()
    expect(world.peer.asked).toEqual([])
  })

  it('loses attributes that a user loses', async () => {
    const { body } = await world.send('GET', '/users/alice')
    await world.changeUser(body.userId, { attributes: {} })
    await world.settled()
    const alice = world.peer.user('alice')
    expect(alice?.['title']).toBeUndefined()
    expect(alice?.['phoneNumbers'] ?? []).toEqual([])
  })

  it.each([
    ['disabled', { enabled: false }],
    ['locked by an administrator', { locked: true }],
  ])('deactivates a user who is %s, and activates again', async (_, change) => {
    const { body } = await world.send('GET', '/users/alice')
    await world.changeUser(body.userId, change)
    await world.settled()
    expect(world.peer.user('alice')?.['active']).toBe(false)
    expect(world.peer.writes()).toHaveLength(1)
    await world.changeUser(body.userId, { enabled: true, locked: false })
    await world.settled()
    expect(world.peer.user('alice')?.['active']).toBe(true)
  })

  it('is named in the export of personal data of its users', async () => {
    const id = await world.addUser('exported')
    await world.settled()
    const { federatedLinks } = (await world.send('GET', `/users/${id}/gdpr/export`)).body
    const { id: userId } = world.peer.user('exported') ?? {}
    expect(federatedLinks).toEqual([{ scimTarget: 'chat', userId }])
  })

  it('deactivates a deleted user', async () => {
    const id = await world.addUser('leaver')
    await world.settled()
    expect(world.active()).toContain('leaver')
    expect((await world.send('DELETE', `/users/${id}`)).status).toBe(204)
    await world.settled()
    expect(world.peer.user('leaver')?.['active']).toBe(false)
  })

  it('gets no user that was deleted before the first run or was disabled from the start', async () => {
    world.peer.fail(() => ({ status: 503 }))
    const id = await world.addUser('ghost')
    await world.send('DELETE', `/users/${id}`)
    world.peer.fail(() => undefined)
    await world.addUser('sleeper', { enabled: false })
    world.clock.now += 60_000
    await world.settled()
    expect(world.peer.user('ghost')).toBeUndefined()
    expect(world.peer.user('sleeper')).toBeUndefined()
  })

  it('gets users of an apply with their groups, and loses those that leave the files', async () => {
    const apply = async (operations: readonly object[]) => {
      const { body } = await world.send('GET', '')
      const changeset = { baseRevision: body.revision, allowUnrelated: true, source: 'estate' }
      const answer = await world.send('POST', '/changesets', { ...changeset, operations })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      await world.settled()
    }
    const doc = { username: 'managed', groups: ['/applied'] }
    await apply([
      { op: 'put', kind: 'group', key: '/applied', doc: { name: 'applied' } },
      { op: 'put', kind: 'user', key: 'managed', doc },
    ])
    expect(world.active()).toContain('managed')
    expect(world.peer.membersOf('applied')).toEqual(['managed'])
    await apply([{ op: 'put', kind: 'user', key: 'managed', doc: { ...doc, enabled: false } }])
    expect(world.active()).not.toContain('managed')
    await apply([{ op: 'put', kind: 'user', key: 'managed', doc }])
    expect(world.active()).toContain('managed')
    await apply([
      { op: 'delete', kind: 'user', key: 'managed' },
      { op: 'delete', kind: 'group', key: '/applied' },
    ])
    expect(world.active()).not.toContain('managed')
    expect(world.peer.group('applied')).toBeUndefined()
  })

  it('gets groups, and members as they come and go', async () => {
    const made = await world.send('POST', '/groups', { name: 'sales' })
    expect(made.status).toBe(201)
    const { groupId } = made.body
    await world.settled()
    expect(world.peer.group('sales')).toMatchObject({ displayName: 'sales', externalId: groupId })
    const bob = await world.addUser('bob')
    const { body: alice } = await world.send('GET', '/users/alice')
    await world.send('PUT', `/groups/${groupId}/members/${bob}`)
    await world.send('PUT', `/groups/${groupId}/members/${alice.userId}`)
    await world.settled()
    expect(world.peer.membersOf('sales')).toEqual(['alice', 'bob'])
    world.peer.asked.length = 0
    await world.send('DELETE', `/groups/${groupId}/members/${bob}`)
    await world.settled()
    expect(world.peer.membersOf('sales')).toEqual(['alice'])
    expect(world.peer.writes()).toHaveLength(1)
    await world.send('PUT', `/groups/${groupId}`, { name: 'field-sales' })
    await world.settled()
    expect(world.peer.group('sales')).toBeUndefined()
    expect(world.peer.membersOf('field-sales')).toEqual(['alice'])
    await world.send('DELETE', `/groups/${groupId}`)
    await world.settled()
    expect(world.peer.group('field-sales')).toBeUndefined()
  })

  it('shows the time of the last complete run', async () => {
    const { body } = await world.send('GET', `/scim-targets/${target}`)
    expect(body).toMatchObject({ lastSyncAt: world.clock.now, lastError: null, tokenSet: true })
    expect(JSON.stringify(body)).not.toContain('a token')
  })

  it('has audit events and metrics of its runs', async () => {
    await world.addUser('told')
    await world.settled()
    const { body } = await world.send('GET', '/events?type=ADMIN_ACTION')
    expect(body.items[0]).toMatchObject({
      actor: 'system',
      outcome: 'SUCCESS',
      resourceType: 'scim-targets',
      resourceId: target,
      detail: 'provisioned: 1 created',
    })
    const figures = await world.server.areas.metrics.figures()
    const sent = figures.find(({ name }) => name === 'svc_scim_provisioned_total')
    expect(sent?.values).toEqual(
      expect.arrayContaining([
        {
          labels: { realm: world.realm, target: 'chat', outcome: 'created' },
          value: expect.any(Number),
        },
      ]),
    )
  })

  it('is not contacted by a plan', async () => {
    const { body } = await world.send('GET', '')
    const doc = { name: 'planned', baseUrl: world.peer.url }
    const answer = await world.send('POST', '/changesets', {
      baseRevision: body.revision,
      allowUnrelated: true,
      source: 'estate',
      dryRun: true,
      operations: [{ op: 'put', kind: 'scim-target', key: 'planned', doc }],
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    await world.settled()
    expect(world.peer.asked).toEqual([])
  })

  it('gets nothing more once it is disabled in the middle of a run', async () => {
    for (let i = 0; i < 250; i += 1) await world.addUser(`many-${i}`)
    let made = 0
    let disabled: Promise<unknown> | undefined
    world.peer.fail(({ method }) => {
      if (method === 'POST') made += 1
      if (made === 20) disabled ??= world.change(target, { enabled: false })
      return undefined
    })
    await world.change(target, { syncGroups: false })
    await disabled
    world.peer.fail(() => undefined)
    expect(made).toBeLessThan(250)
    await world.change(target, { enabled: true, syncGroups: true })
    expect(world.active().filter((name) => name.startsWith('many-'))).toHaveLength(250)
  })

  it('gets nothing while it is disabled, and everything once it is enabled', async () => {
    await world.change(target, { enabled: false })
    world.peer.asked.length = 0
    await world.addUser('carol')
    await world.settled()
    expect(world.peer.asked).toEqual([])
    const waiting = await world.server.areas.storage.db
      .selectFrom('jobs')
      .select('id')
      .where('queue', '=', 'scim-out')
      .execute()
    expect(waiting).toEqual([])
    await world.change(target, { enabled: true })
    expect(world.active()).toContain('carol')
  })
})
