/** A changeset can create its realm, and a dry run reports its changes and blast radius. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Role } from '#schemas/kinds/users/role.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seedOf, seeds } from '#schemas/realm/seeds.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { client, documentIn, phc, put, remove, role, senderTo, user } from './changeset.ts'

const newRealm = { baseRevision: 0, createRealm: true }

describe.each(backends)('a changeset that makes its realm on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const rows = (table: 'signing_keys' | 'revisions', realm: string) =>
    server.areas.storage.db.selectFrom(table).selectAll().where('realm', '=', realm).execute()
  const masterEvents = (realm: string) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('realm', '=', 'master')
      .where('resource_id', '=', realm)
      .execute()

  it('makes it with its seeds, its key and its documents as revision 1', async () => {
    const to = senderTo(server, 'fresh')
    const answer = await to.apply(
      [
        put('settings', 'settings', { displayName: 'Fresh' }),
        role('user', { description: 'Everybody.', composites: ['staff'] }),
        role('staff'),
        client('web'),
        user('anna', { roles: ['staff'] }, { secrets: { '/passwordHash': phc } }),
      ],
      { ...newRealm, message: 'the beginning' },
    )
    expect(answer, JSON.stringify(answer.body)).toMatchObject({
      status: 200,
      body: { revision: 1, created: 3, updated: 2, deleted: 0 },
    })
    expect(answer.body.changes).toContainEqual({
      op: 'update',
      kind: 'settings',
      key: 'settings',
      figure: 'updated',
      fields: [{ pointer: '/displayName', change: 'set', after: 'Fresh' }],
      secrets: [],
    })
    expect(await rows('signing_keys', 'fresh')).toHaveLength(1)
    expect(await rows('revisions', 'fresh')).toMatchObject([
      { revision: 1, source: 'changeset', message: 'the beginning' },
    ])
    expect(await masterEvents('fresh')).toMatchObject([
      { type: 'ADMIN_CREATE', resource_type: 'realms', actor: server.admin.userId },
    ])
    const events = await server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('realm', '=', 'fresh')
      .execute()
    expect(events).toHaveLength(5)
    expect(events.every(({ revision }) => revision === 1)).toBe(true)

    const built = { origin: 'built-in', owner: 'estate' }
    expect(await documentIn(server, 'fresh', 'role', 'user')).toMatchObject(built)
    expect(await documentIn(server, 'fresh', 'settings', 'settings')).toMatchObject(built)
    const untouched = { origin: 'built-in', owner: null }
    expect(await documentIn(server, 'fresh', 'role', 'admin')).toMatchObject(untouched)
    const declared = { origin: 'declared', owner: 'estate' }
    expect(await documentIn(server, 'fresh', 'client', 'web')).toMatchObject(declared)
    for (const { kind, key } of seeds)
      expect(await documentIn(server, 'fresh', kind.kind, key), `${kind.kind} ${key}`).toBeDefined()
    const { body } = await server.admin.send('GET', '/admin/realms/fresh/users/anna')
    expect(body).toMatchObject({ managed: true, roles: expect.arrayContaining(['staff', 'user']) })
  })

  it('lets what every realm is born with follow a rename, as in a realm that is there', async () => {
    const to = senderTo(server, 'renamed')
    const answer = await to.apply(
      [
        role('member', {}, { op: 'rename', from: 'user' }),
        put(
          'flow',
          'house',
          { alias: 'house', authenticationExecutions: [{ authenticator: 'username-password' }] },
          { op: 'rename', from: 'browser-by-password' },
        ),
      ],
      newRealm,
    )
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 })
    const read = async (path: string) =>
      (await server.admin.send('GET', `/admin/realms/renamed/${path}`)).body
    expect(await read('settings')).toMatchObject({ defaultRole: 'member' })
    const { authenticationExecutions } = await read('flows/browser')
    expect(authenticationExecutions).toContainEqual(expect.objectContaining({ flowAlias: 'house' }))
  })

  it('compares seeds with what the sender took them for', async () => {
    const to = senderTo(server, 'hashed')
    const wrong = await to.apply([role('user', {}, { ifHash: '0'.repeat(64) })], newRealm)
    expect(wrong).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const there = await to.apply([role('user', {}, { ifHash: null })], newRealm)
    expect(there.status).toBe(409)
    expect(await server.areas.realm.realms.find('hashed')).toBeUndefined()
    const ifHash = contentHash(seedOf(Role, 'user')?.doc ?? {})
    const right = await to.apply([role('user', {}, { ifHash })], newRealm)
    expect(right.status, JSON.stringify(right.body)).toBe(200)
  })

  it('leaves nothing behind where one operation is wrong', async () => {
    const answer = await senderTo(server, 'half').apply(
      [role('fine'), role('broken', { composites: ['nobody'] })],
      newRealm,
    )
    expect(answer.body.errors).toMatchObject([{ field: '/operations/1/doc/composites' }])
    expect(await server.areas.realm.realms.find('half')).toBeUndefined()
    expect(await rows('signing_keys', 'half')).toEqual([])
    expect(await masterEvents('half')).toEqual([])
  })

  it('is for realm-admins of the master realm, for a good name, and for a realm that is not there', async () => {
    await server.createRealm('taken')
    const conflict = await senderTo(server, 'taken').apply([], newRealm)
    expect(conflict).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const local = await server.userWith('taken', ['realm-admin'])
    expect((await senderTo(server, 'taken', local).apply([], newRealm)).status).toBe(403)
    expect((await senderTo(server, 'elsewhere', local).apply([], newRealm)).status).toBe(401)
    const helper = await server.userWith('master', ['manage-realm', 'manage-users'])
    expect((await senderTo(server, 'elsewhere', helper).apply([], newRealm)).status).toBe(403)
    expect((await senderTo(server, '_bad_name').apply([], newRealm)).status).toBe(400)
    const based = await senderTo(server, 'elsewhere').apply([], { ...newRealm, baseRevision: 3 })
    expect(based.body.errors).toMatchObject([{ field: '/baseRevision' }])
    const missing = await senderTo(server, 'elsewhere').apply([role('x')])
    expect(missing).toMatchObject({ status: 404, body: { code: 'not-found' } })
  })

  it('makes it once when several try, and answers a repeated request again', async () => {
    const to = senderTo(server, 'contested')
    const body = { ...newRealm, source: 'estate', operations: [role('x')] }
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => to.send({ ...body, message: String(i) })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409])
    const keyed = senderTo(server, 'keyed')
    const repeated = await Promise.all(
      Array.from({ length: 4 }, () => keyed.send(body, { 'idempotency-key': 'birth' })),
    )
    expect(repeated.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await rows('revisions', 'keyed')).toHaveLength(1)
  })
})

describe.each(backends)('a dry run on $name', (backend) => {
  let server: TestServer
  const to = () => senderTo(server, 'acme')
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  /** State that a dry run must not change. */
  const state = async () => {
    const { db } = server.areas.storage
    return [
      await db.selectFrom('documents').select(['id', 'version', 'body', 'sealed']).execute(),
      await db.selectFrom('users').select(['id', 'version']).execute(),
      await db.selectFrom('realms').selectAll().execute(),
      await db.selectFrom('audit_events').select('id').execute(),
      await db.selectFrom('idempotency_keys').selectAll().execute(),
    ]
  }
  const dry = (operations: Parameters<ReturnType<typeof to>['apply']>[0], head = {}) =>
    to().apply(operations, { dryRun: true, ...head })

  it('tells every field and every secret that would change, and changes nothing', async () => {
    const secret = 'a'.repeat(40)
    await to().apply([
      put(
        'client',
        'dry',
        { clientId: 'dry', scopes: ['profile'] },
        { secrets: { '/secret': secret } },
      ),
      role('dry-gone', { description: 'going' }),
    ])
    const before = await state()
    const operations = [
      put(
        'client',
        'dry',
        { clientId: 'dry', scopes: ['email'], name: 'Dry' },
        { secrets: { '/secret': 'b'.repeat(40) } },
      ),
      put('client', 'dry-new', { clientId: 'dry-new', publicClient: true }),
      user('dry-user', {}, { secrets: { '/initialPassword': 'correct horse battery staple' } }),
      remove('role', 'dry-gone'),
    ]
    const answer = await dry(operations)
    expect(answer, JSON.stringify(answer.body)).toMatchObject({
      status: 200,
      body: { dryRun: true, revision: await to().revision(), created: 2, updated: 1, deleted: 1 },
    })
    const [updated] = answer.body.changes.filter(({ key }: { key: string }) => key === 'dry')
    expect(updated.secrets).toEqual(['/secret'])
    expect(updated.fields).toEqual(
      expect.arrayContaining([
        { pointer: '/name', change: 'set', after: 'Dry' },
        { pointer: '/scopes', change: 'remove', value: 'profile' },
        { pointer: '/scopes', change: 'add', value: 'email' },
      ]),
    )
    const text = JSON.stringify(answer.body)
    for (const plain of [secret, 'b'.repeat(40), 'correct horse']) expect(text).not.toContain(plain)
    const same = await dry([
      put(
        'client',
        'dry',
        { clientId: 'dry', scopes: ['profile'] },
        { secrets: { '/secret': secret } },
      ),
    ])
    expect(same.body.changes).toEqual([])
    expect(await state()).toEqual(before)
    expect(await dry([], { ...newRealm })).toMatchObject({ status: 409 })
    const birth = await senderTo(server, 'unborn').apply([role('x')], { ...newRealm, dryRun: true })
    expect(birth.body).toMatchObject({ revision: 0, created: 1 })
    expect(await state()).toEqual(before)
  })

  it('refuses what the apply would refuse', async () => {
    await to().apply([role('kept', {}, { protected: true })])
    expect((await dry([remove('role', 'kept')])).body.code).toBe('protected')
    expect((await dry([role('kept')], { source: 'other' })).body.code).toBe('owned')
    expect((await dry([role('x', { composites: ['nobody'] })])).body.code).toBe('validation')
    const weak = await dry([user('weak', {}, { secrets: { '/initialPassword': 'x' } })])
    expect(weak.body.errors).toMatchObject([{ field: '/operations/0/doc/initialPassword' }])
  })

  it('counts whom deletions, lock-outs and lost roles reach', async () => {
    const made = await to().apply([
      role('popular', { permissions: ['view-users'] }),
      role('lonely'),
      put('group', '/Crowd', { name: 'Crowd', roles: ['popular'] }),
      put('group', '/Crowd/Inner', { name: 'Inner' }),
      put('organization', 'org', { alias: 'org', name: 'Org' }),
      client('app'),
      put('client-role', 'app/user', { name: 'user' }),
      user('declared', { roles: ['popular'] }),
    ])
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    const id = async (kind: string, key: string) =>
      (await documentIn(server, 'acme', kind, key))?.id ?? ''
    const { areas } = server
    const people = Array.from({ length: 5 }, (_, i) =>
      newUserRow(
        { username: `person-${i}` },
        { id: newId(), realm: 'acme', now: areas.given.clock.now() },
      ),
    )
    const [popular, inner, org, appRole] = [
      await id('role', 'popular'),
      await id('group', '/Crowd/Inner'),
      await id('organization', 'org'),
      await id('client-role', 'app/user'),
    ]
    const { db } = areas.storage
    await areas.storage.commit([
      ...people.flatMap((row) => areas.users.store.createStatements(row)),
      ...insertRows(
        db,
        'user_roles',
        people.flatMap(({ id: user_id }) =>
          [popular, appRole].map((role_id) => ({ user_id, role_id })),
        ),
      ),
      ...insertRows(
        db,
        'user_groups',
        people.slice(0, 3).map(({ id: user_id }) => ({ user_id, group_id: inner })),
      ),
      ...insertRows(
        db,
        'organization_members',
        people.slice(0, 2).map(({ id: user_id }) => ({
          user_id,
          organization_id: org,
          joined_at: 1,
        })),
      ),
    ])
    await server.signedIn('acme', 'declared')
    await server.signedIn('acme', 'declared')
    await server.signedIn('acme', 'person-0')
    const none = { sessions: 0, users: 0, members: 0, documents: 0 }

    const gone = await dry([
      remove('role', 'popular'),
      remove('role', 'lonely'),
      remove('group', '/Crowd'),
      remove('organization', 'org'),
      remove('client', 'app'),
      remove('user', 'declared'),
    ])
    expect(gone.status, JSON.stringify(gone.body)).toBe(200)
    expect(gone.body.impacts).toEqual(
      expect.arrayContaining([
        { ...none, kind: 'role', key: 'popular', members: 6 },
        { ...none, kind: 'group', key: '/Crowd', members: 3, documents: 1 },
        { ...none, kind: 'organization', key: 'org', members: 2 },
        { ...none, kind: 'client', key: 'app', members: 5, documents: 1 },
        { ...none, kind: 'user', key: 'declared', sessions: 2, users: 1 },
      ]),
    )
    expect(gone.body.impacts).toHaveLength(5)

    const lockedOut = await dry([
      user('declared', { roles: ['popular'], enabled: false }),
      put('settings', 'settings', { enabled: false }),
      role('popular'),
      put('group', '/Crowd', { name: 'Crowd' }),
    ])
    const users = await db.selectFrom('users').select('id').where('realm', '=', 'acme').execute()
    expect(lockedOut.body.impacts).toEqual(
      expect.arrayContaining([
        { ...none, kind: 'user', key: 'declared', sessions: 2, users: 1 },
        { ...none, kind: 'settings', key: 'settings', sessions: 3, users: users.length },
        { ...none, kind: 'role', key: 'popular', members: 6 },
      ]),
    )
    expect((await to().apply([remove('organization', 'org')])).body.impacts).toEqual([])
  })
})
