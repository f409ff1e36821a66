/** POST …/revisions/{n}/rollback: the realm as it was, by one revision, with ids, secrets and data as they are. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { RealmExport } from '#schemas/wire/wire.ts'
import { type Operation, runtimeChannel } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { estate, fillRealm, pipeline, secretMark } from '../../support/filled-realm.ts'
import { type Client as Caller, startServer, type TestServer } from '../../support/server.ts'

const secret = (n: number): string => `${secretMark}-${n}`.padEnd(40, '-')

describe.each(backends)('rollback on $name', (backend) => {
  let server: TestServer
  let count = 0
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const newRealm = async (): Promise<string> => {
    count += 1
    const realm = `acme-${count}`
    await server.createRealm(realm)
    return realm
  }
  const revisionOf = async (realm: string): Promise<number> =>
    (await server.areas.realm.realms.find(realm))?.revision ?? 0
  const put = (
    kind: Kind,
    doc: Doc,
    secrets: Record<string, string> = {},
    from?: string,
  ): Operation => {
    const own = String(doc[kind.keyFields[0] ?? ''])
    const key = kind === Group ? `/${own}` : own
    return { op: 'put', kind, key, doc, secrets, ...(from === undefined ? {} : { from }) }
  }
  const write = async (realm: string, operations: readonly Operation[]): Promise<number> =>
    (
      await server.areas.realm.writer.write({
        realm,
        caller: pipeline,
        channel: estate,
        operations,
      })
    ).revision
  const send = (realm: string, n: number, body: object = {}, by: Caller = server.admin) =>
    by.send('POST', `/admin/realms/${realm}/revisions/${n}/rollback`, body)
  const rollback = async (realm: string, n: number, body: object = {}) => {
    const answer = await send(realm, n, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  const stateOf = async (realm: string) => {
    const { body } = await server.admin.send(
      'GET',
      `/admin/realms/${realm}/export?builtIns=true&ids=true`,
    )
    const { revision: _, meta, ...sections } = body as RealmExport
    const documents = Object.entries(meta.documents).flatMap(([kind, all]) =>
      Object.entries(all).map(([key, { updatedAt: __, ...rest }]) => [kind, key, rest]),
    )
    return { sections, documents }
  }
  const idOf = async (realm: string, kind: Kind, key: string): Promise<string | undefined> =>
    (await (await server.areas.copy.fresh(realm))?.get(kind.kind, key))?.id
  const differs = async (realm: string, secrets: object[]): Promise<unknown> =>
    (
      await server.admin.send('POST', `/admin/realms/${realm}/compare`, {
        source: 'estate',
        sectionHashes: {},
        secrets,
      })
    ).body.differingSecrets

  it('gives back a realm with every kind after all of it was deleted, and forth again', async () => {
    const realm = await newRealm()
    await fillRealm(server, realm)
    const full = await stateOf(realm)
    const n = await revisionOf(realm)
    const { db } = server.areas.storage
    const rows = await db
      .selectFrom('documents')
      .select(['id', 'kind', 'key'])
      .where('realm', '=', realm)
      .where('origin', '!=', 'built-in')
      .execute()
    await server.areas.realm.writer.write({
      realm,
      caller: pipeline,
      channel: { ...estate, takeOver: true },
      operations: rows.map(({ id, kind, key }) => ({
        op: 'delete',
        kind: kindNamed(kind),
        key,
        id,
      })),
    })
    const url = `/admin/realms/${realm}`
    await server.admin.send('PUT', `${url}/settings`, { displayName: 'Empty' })
    await server.admin.send('PUT', `${url}/roles/user`, { name: 'everybody' })
    const empty = await stateOf(realm)
    expect(empty.documents.length).toBeLessThan(full.documents.length / 1.5)

    const reply = await rollback(realm, n)
    expect(await stateOf(realm)).toEqual(full)
    expect(reply).toMatchObject({
      revision: n + 4,
      dryRun: false,
      created: rows.length,
      deleted: 0,
    })
    await rollback(realm, n + 3)
    expect(await stateOf(realm)).toEqual(empty)
    await rollback(realm, n + 4)
    expect(await stateOf(realm)).toEqual(full)
    expect(JSON.stringify(reply)).not.toContain(secretMark)
    expect(await revisionOf(realm)).toBe(n + 6)
  })

  it('takes secrets from history where a document comes back, and keeps them where it stayed', async () => {
    const realm = await newRealm()
    const n = await write(realm, [
      put(Client, { clientId: 'gone' }, { '/secret': secret(1) }),
      put(Client, { clientId: 'kept' }, { '/secret': secret(2) }),
    ])
    const ids = [await idOf(realm, Client, 'gone'), await idOf(realm, Client, 'kept')]
    await write(realm, [
      { op: 'delete', kind: Client, key: 'gone' },
      put(Client, { clientId: 'kept', name: 'Changed' }, { '/secret': secret(3) }),
    ])
    const keys = await server.areas.storage.db.selectFrom('signing_keys').selectAll().execute()
    await rollback(realm, n)
    expect([await idOf(realm, Client, 'gone'), await idOf(realm, Client, 'kept')]).toEqual(ids)
    const of = (key: string, value: string) => [{ kind: 'client', key, pointer: '/secret', value }]
    expect(await differs(realm, of('gone', secret(1)))).toEqual([])
    expect(await differs(realm, of('kept', secret(3)))).toEqual([])
    expect(await differs(realm, of('kept', secret(2)))).toHaveLength(1)
    expect(await server.areas.storage.db.selectFrom('signing_keys').selectAll().execute()).toEqual(
      keys,
    )
  })

  it('gives names back, also where they went round in a circle or were taken', async () => {
    const realm = await newRealm()
    const n = await write(realm, [
      ...['a', 'b', 'c'].map((name) => put(Role, { name, description: name })),
      put(Role, { name: 'all', composites: ['a', 'b', 'c'] }),
      put(Group, { name: 'Top', roles: ['a'] }),
      put(User, { username: 'mia', roles: ['a', 'b'], groups: ['/Top'] }),
    ])
    const before = await stateOf(realm)
    const url = `/admin/realms/${realm}`
    const rename = (from: string, name: string) =>
      server.admin.send('PUT', `${url}/roles/${from}`, { name })
    // a -> b -> c -> a
    for (const [from, to] of [
      ['a', 'x'],
      ['c', 'a'],
      ['b', 'c'],
      ['x', 'b'],
    ] as const)
      expect((await rename(from, to)).status).toBe(200)
    await rename('a', 'old-a')
    await server.admin.send('POST', `${url}/roles`, { name: 'a', description: 'new' })
    await server.admin.send('PUT', `${url}/groups/%2FTop`, { name: 'Bottom' })
    await server.admin.send('POST', `${url}/groups`, { name: 'Top' })
    await rollback(realm, n)
    expect(await stateOf(realm)).toEqual(before)
    expect((await server.admin.send('GET', `${url}/users/mia`)).body.roles).toEqual([
      'a',
      'b',
      'user',
    ])
    expect((await server.admin.send('GET', `${url}/groups/%2FTop`)).body.memberCount).toBe(1)
  })

  it('keeps what was made under a name since, unless it can no longer become what it was', async () => {
    const realm = await newRealm()
    const idp = (protocol: string, config: Doc) => ({ alias: 'idp', protocol, config })
    const ldap = idp('ldap', { url: 'ldaps://l.example', userSearchBase: 'o=x' })
    const n = await write(realm, [
      put(Group, { name: 'Crew', description: 'old' }),
      put(IdentityProvider, ldap),
    ])
    const old = await idOf(realm, IdentityProvider, 'idp')
    await write(realm, [
      { op: 'delete', kind: Group, key: '/Crew' },
      { op: 'delete', kind: IdentityProvider, key: 'idp' },
    ])
    await write(realm, [
      put(Group, { name: 'Crew' }),
      put(IdentityProvider, idp('oidc', { clientId: 'c', issuer: 'https://i.example' })),
    ])
    const crew = await idOf(realm, Group, '/Crew')
    await rollback(realm, n)
    const view = await server.areas.copy.fresh(realm)
    expect(await view?.get('group', '/Crew')).toMatchObject({
      id: crew,
      body: { description: 'old' },
    })
    expect(await view?.get('identity-provider', 'idp')).toMatchObject({ id: old, body: ldap })
  })

  it('changes nothing where nothing changed, and only tells with dryRun', async () => {
    const realm = await newRealm()
    const n = await write(realm, [put(Role, { name: 'a' })])
    expect(await rollback(realm, n)).toEqual({
      revision: n,
      dryRun: false,
      created: 0,
      updated: 0,
      deleted: 0,
      adopted: 0,
      along: 0,
      changes: [],
      impacts: [],
    })
    await server.admin.send('DELETE', `/admin/realms/${realm}/roles/a`)
    const told = await rollback(realm, n, { dryRun: true })
    expect(told).toMatchObject({ revision: n + 1, dryRun: true, created: 1 })
    expect(told.changes).toMatchObject([{ op: 'create', kind: 'role', key: 'a' }])
    expect(await revisionOf(realm)).toBe(n + 1)
    expect(await idOf(realm, Role, 'a')).toBeUndefined()
  })

  it('is a revision that says what it is, and every document has its event', async () => {
    const realm = await newRealm()
    await write(realm, [put(Role, { name: 'a' })])
    const { revision } = await rollback(realm, 1, { message: 'a mistake' })
    const [last] = (await server.admin.send('GET', `/admin/realms/${realm}/revisions?max=1`)).body
    expect(last).toMatchObject({
      revision,
      source: 'rollback',
      message: 'a mistake',
      provenance: { rollbackTo: '1' },
      actorName: 'admin',
      deleted: 1,
    })
    const events = await server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'actor'])
      .where('realm', '=', realm)
      .where('revision', '=', revision)
      .execute()
    expect(events).toEqual([{ type: 'ADMIN_DELETE', actor: server.admin.userId }])
  })

  it('gives back owners, origins and protection, and refuses to delete what is protected', async () => {
    const realm = await newRealm()
    const n = await write(realm, [{ ...put(Role, { name: 'a' }), protected: true } as Operation])
    const before = await stateOf(realm)
    await server.areas.realm.writer.write({
      realm,
      caller: pipeline,
      channel: { ...estate, owner: 'other', takeOver: true },
      operations: [{ ...put(Role, { name: 'a' }), protected: false } as Operation],
    })
    await rollback(realm, n)
    expect(await stateOf(realm)).toEqual(before)
    const refused = await send(realm, 1)
    expect([refused.status, refused.body.code]).toEqual([409, 'protected'])
    expect(await stateOf(realm)).toEqual(before)
  })

  it('deletes users that it unmakes, and lets go of those who were there before', async () => {
    const realm = await newRealm()
    const url = `/admin/realms/${realm}/users`
    const made = (await server.admin.send('POST', url, { username: 'ann', firstName: 'Ann' })).body
    await server.admin.send('PUT', `${url}/ann/password`, {
      newPassword: 'something long and new 55',
    })
    const n = await revisionOf(realm)
    await write(realm, [
      put(User, { username: 'ann', roles: ['auditor'] }),
      put(User, { username: 'ben' }),
    ])
    const credentials = () =>
      server.areas.storage.db
        .selectFrom('credentials')
        .select('id')
        .where('realm', '=', realm)
        .execute()
    const before = await credentials()
    await rollback(realm, n)
    expect((await server.admin.send('GET', `${url}/ben`)).status).toBe(404)
    const ann = await server.admin.send('GET', `${url}/ann`)
    expect(ann.body).toMatchObject({
      userId: made.userId,
      managed: false,
      roles: ['auditor', 'user'],
    })
    expect(await credentials()).toEqual(before)
    await rollback(realm, n + 1)
    expect((await server.admin.send('GET', `${url}/ann`)).body).toMatchObject({
      userId: made.userId,
      managed: true,
    })
    expect((await server.admin.send('GET', `${url}/ben`)).status).toBe(200)
    expect(await credentials()).toEqual(before)
  })

  it('gives users back without a password, which the next apply finds out', async () => {
    const realm = await newRealm()
    const hash =
      '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
    const n = await write(realm, [put(User, { username: 'ann' }, { '/passwordHash': hash })])
    const id = await idOf(realm, User, 'ann')
    const of = [{ kind: 'user', key: 'ann', pointer: '/passwordHash', value: hash }]
    expect(await differs(realm, of)).toEqual([])
    await server.admin.send('DELETE', `/admin/realms/${realm}/users/ann`)
    await rollback(realm, n)
    expect(await idOf(realm, User, 'ann')).toBe(id)
    expect(await differs(realm, of)).toHaveLength(1)
  })

  it('does not make somebody else of a user who has the name by now', async () => {
    const realm = await newRealm()
    const n = await write(realm, [put(User, { username: 'ann', roles: ['admin'] })])
    const url = `/admin/realms/${realm}/users`
    await server.admin.send('DELETE', `${url}/ann`)
    await server.admin.send('POST', url, { username: 'Ann' })
    const refused = await send(realm, n)
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict'])
    expect(refused.body.detail).toContain('user "ann"')
    expect((await server.admin.send('GET', `${url}/ann`)).body).toMatchObject({
      managed: false,
      roles: ['user'],
    })
  })

  it('leaves runtime documents alone, and keeps those that a file named since', async () => {
    const realm = await newRealm()
    const runtime = (doc: Doc) =>
      server.areas.realm.writer.write({
        realm,
        caller: pipeline,
        channel: runtimeChannel,
        operations: [put(Client, doc)],
      })
    await runtime({ clientId: 'registered', name: 'Then' })
    const n = await write(realm, [put(Role, { name: 'a' })])
    await write(realm, [put(Client, { clientId: 'registered', name: 'Now' })])
    await runtime({ clientId: 'later' })
    await rollback(realm, n)
    const view = await server.areas.copy.fresh(realm)
    expect(await view?.get('client', 'registered')).toMatchObject({
      origin: 'manual',
      owner: null,
      body: { name: 'Then' },
    })
    expect(await view?.get('client', 'later')).toMatchObject({ origin: 'runtime' })
  })

  it('takes the write permission of what it changes, and nobody gains more than they hold', async () => {
    const realm = await newRealm()
    const n = await write(realm, [
      put(Role, { name: 'a' }),
      put(Client, { clientId: 'web', publicClient: true }),
    ])
    await write(realm, [put(Role, { name: 'a', description: 'new' })])
    const keeper = await server.userWith(realm, ['manage-roles'])
    const at = await revisionOf(realm)
    expect((await send(realm, at - 1, { dryRun: true }, keeper)).status).toBe(403)
    const own = await server.userWith(realm, ['manage-roles'])
    const now = await write(realm, [put(Role, { name: 'a', description: 'newest' })])
    expect((await send(realm, now - 1, {}, own)).status).toBe(200)
    expect((await send(realm, n - 1, {}, own)).status).toBe(403)
    const reader = await server.userWith(realm, ['view-users'])
    expect((await send(realm, now, {}, reader)).status).toBe(403)
    const permissions = { permissions: ['realm-admin'] }
    const role = await idOf(realm, Role, 'a')
    const url = `/admin/realms/${realm}/admin-roles/${role}`
    await server.admin.send('PUT', url, permissions)
    const strong = await revisionOf(realm)
    await server.admin.send('PUT', url, { permissions: [] })
    expect((await send(realm, strong, {}, own)).status).toBe(403)
  })

  it('is refused as stale with a base that is not the present one, and tells what moved', async () => {
    const realm = await newRealm()
    const n = await write(realm, [put(Role, { name: 'a' })])
    await server.admin.send('POST', `/admin/realms/${realm}/roles`, { name: 'b' })
    const { status, body } = await send(realm, 1, { baseRevision: n })
    expect([status, body.code, body.revision]).toEqual([409, 'stale', n + 1])
    expect(body.moved).toMatchObject([
      { revision: n + 1, actorName: 'admin', changes: [{ op: 'create', kind: 'role', key: 'b' }] },
    ])
    expect((await send(realm, 1, { baseRevision: n + 1 })).status).toBe(200)
  })

  it('answers 404 to a revision that there is not, and 400 to what it does not know', async () => {
    const realm = await newRealm()
    for (const n of [0, 99]) expect((await send(realm, n)).status).toBe(404)
    expect((await send('none', 1)).status).toBe(404)
    expect((await send(realm, 1, { force: true })).status).toBe(400)
  })

  it('lands between the writes of others', async () => {
    const realm = await newRealm()
    const n = await write(realm, [put(Role, { name: 'a' })])
    await write(realm, [put(Role, { name: 'a', description: 'changed' }), put(Role, { name: 'b' })])
    const url = `/admin/realms/${realm}/groups`
    const [answer, ...made] = await Promise.all([
      send(realm, n),
      ...Array.from({ length: 10 }, (_, i) => server.admin.send('POST', url, { name: `G${i}` })),
    ])
    expect(answer?.status, JSON.stringify(answer?.body)).toBe(200)
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
    const view = await server.areas.copy.fresh(realm)
    expect(await view?.get('role', 'b')).toBeUndefined()
    expect((await view?.get('role', 'a'))?.body).toEqual({ name: 'a' })
  })

  it('leaves everything in the database consistent', async () => {
    // What a runtime document was is in no history, and users of this test are made without events.
    const runtime = await server.areas.storage.db
      .selectFrom('documents')
      .select('realm')
      .where('key', '=', 'registered')
      .execute()
    const faults = await faultsOf(server.areas.storage)
    const elsewhere = faults.filter((fault) => !runtime.some(({ realm }) => fault.includes(realm)))
    expect(elsewhere.filter((fault) => !fault.startsWith('users:'))).toEqual([])
  })
})
