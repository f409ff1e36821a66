/** GET …/export: one canonical shape of a realm's configuration, of one revision, without a secret. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten, sectionOf, withoutSecretFlags } from '#schemas/realm/realm-document.ts'
import { sectionHash } from '#schemas/realm/section-hash.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { realmView } from '#schemas/views.ts'
import type { RealmExport } from '#schemas/wire/wire.ts'
import { runtimeChannel } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { estate, fillRealm, pipeline, secretMark } from '../../support/filled-realm.ts'
import { type Client as Caller, startServer, type TestServer } from '../../support/server.ts'

/** What the export means, read as a file is. */
const meaningOf = (exported: RealmExport) =>
  flatten(exported).entries.map((entry) =>
    desiredOf({ ...entry, value: withoutSecretFlags(entry.kind, entry.value).doc }),
  )

describe.each(backends)('the export on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('full')
    await fillRealm(server, 'full')
  })
  afterAll(() => server.close())

  const get = (realm: string, query = '', by: Caller = server.admin, headers = {}) =>
    by.send('GET', `/admin/realms/${realm}/export${query}`, undefined, headers)
  const exportOf = async (realm: string, query = '', by?: Caller): Promise<RealmExport> => {
    const { status, body } = await get(realm, query, by)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const putRoles = (realm: string, docs: readonly Doc[]) =>
    server.areas.realm.writer.write({
      realm,
      caller: pipeline,
      channel: estate,
      operations: docs.map((doc) => ({
        op: 'put',
        kind: Role,
        key: String(doc['name']),
        doc,
        secrets: {},
      })),
    })

  it('means exactly what is stored, of every kind, read as a file is read', async () => {
    const exported = await exportOf('full', '?builtIns=true')
    const meaning = meaningOf(exported)
    const hashes = Object.fromEntries(
      [...Map.groupBy(meaning, ({ kind }) => kind.kind)].map(([kind, all]) => [
        kind,
        Object.fromEntries(all.map(({ key, hash }) => [key, hash])),
      ]),
    )
    expect(Object.keys(hashes).sort()).toEqual(kinds.map(({ kind }) => kind).sort())
    for (const [kind, documents] of Object.entries(exported.meta.documents))
      for (const [key, { hash }] of Object.entries(documents))
        expect(hashes[kind]?.[key], `${kind} ${key}`).toBe(hash)
    const stored = await server.areas.storage.db
      .selectFrom('documents')
      .select(['kind', 'key', 'hash'])
      .where('realm', '=', 'full')
      .execute()
    for (const { kind, key, hash } of stored) expect(hashes[kind]?.[key], key).toBe(hash)
    expect(meaning).toHaveLength(stored.length)
    const sections = Map.groupBy(meaning, ({ kind }) => sectionOf(kind))
    for (const [section, all] of sections)
      expect(exported.meta.sections[section]).toBe(
        sectionHash(all.map((one) => ({ ...one, kind: one.kind.kind }))),
      )
    expect(Object.keys(exported.meta.sections)).toHaveLength(sections.size)
  })

  it('is what a realm file may hold, once what is not configuration is taken out', async () => {
    const { formatVersion, revision, meta, ...file } = await exportOf('full', '?builtIns=true')
    const strip = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (name, inner) =>
        name.endsWith('Set') && inner === true ? undefined : inner,
      )
    expect(lazyValidator(createAjv(), realmView(kinds))(strip(file))).toEqual([])
    expect({ formatVersion, revision }).toEqual({ formatVersion: 1, revision: expect.any(Number) })
  })

  it('holds no secret, and tells which are set', async () => {
    const text = JSON.stringify([
      await get('full', '?builtIns=true&users=all&ids=true&history=true'),
      await get('full', '?builtIns=true&ids=true&history=true&revision=20'),
    ])
    expect(text).not.toContain(secretMark)
    for (const word of ['hmac', '"kid"', 'sealed', 'argon2']) expect(text).not.toContain(word)
    expect(text).toContain('"secretSet":true')
    expect(text).toContain('"clientSecretSet":true')
  })

  it('leaves out what a realm is born with, until it is changed or owned', async () => {
    await server.createRealm('young')
    const { meta, ...empty } = await exportOf('young')
    expect(Object.keys(empty).sort()).toEqual(['formatVersion', 'realm', 'revision'])
    expect(meta).toEqual({ sections: {}, documents: {}, omittedSections: [] })
    const url = '/admin/realms/young'
    await server.admin.send('PUT', `${url}/flows/first-broker-login`, {
      alias: 'first-broker-login',
    })
    await server.admin.send('PUT', `${url}/roles/user`, { name: 'user' })
    await putRoles('young', [
      { name: 'admin', description: 'Administers the realm.', permissions: ['realm-admin'] },
    ])
    const changed = await exportOf('young')
    // A value of the seed that was removed is written: left out, it would mean the seed.
    expect(changed['flows']).toEqual([
      { alias: 'first-broker-login', description: null, authenticationExecutions: [] },
    ])
    expect(changed['roles']).toEqual([
      expect.objectContaining({ name: 'admin' }),
      { name: 'user', description: null },
    ])
    expect(changed.meta.documents['role']?.['admin']).toMatchObject({
      origin: 'built-in',
      owner: 'estate',
      protected: false,
    })
    expect(changed['settings']).toBeUndefined()
    const all = await exportOf('young', '?builtIns=true')
    expect(Object.keys(all)).toEqual(expect.arrayContaining(['settings', 'clientScopes', 'flows']))
  })

  it('tells ids only where they are asked for', async () => {
    const [, meta] =
      Object.entries((await exportOf('full', '?ids=true')).meta.documents['client'] ?? {})[0] ?? []
    expect(meta?.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(JSON.stringify(await exportOf('full'))).not.toContain(meta?.id)
  })

  it('holds the sections that are asked for, and refuses one that there is not', async () => {
    const { meta, formatVersion, realm, revision, ...sections } = await exportOf(
      'full',
      '?sections=roles,clients&builtIns=true',
    )
    expect(Object.keys(sections).sort()).toEqual(['clients', 'roles'])
    expect(Object.keys(meta.sections).sort()).toEqual(['clients', 'roles'])
    expect((await get('full', '?sections=roles,cleints')).body.errors).toEqual([
      { field: 'sections', code: 'enum', message: 'there is no section "cleints"' },
    ])
  })

  it('shows a caller what they may read, and names the rest', async () => {
    const by = await server.userWith('full', ['view-clients', 'manage-organizations'])
    const seen = await exportOf('full', '?builtIns=true', by)
    const readable = kinds.filter(({ permission }) =>
      ['view-clients', 'manage-organizations'].includes(permission.read),
    )
    const sections = new Set(readable.map(sectionOf))
    const { meta, formatVersion, realm, revision, ...shown } = seen
    expect(new Set(Object.keys(shown))).toEqual(sections)
    expect(new Set(Object.keys(meta.documents))).toEqual(new Set(readable.map(({ kind }) => kind)))
    expect(meta.omittedSections).toEqual(
      expect.arrayContaining(['settings', 'users', 'roles', 'clients/authzPolicies']),
    )
    for (const section of sections) expect(meta.omittedSections).not.toContain(section)
    expect(JSON.stringify(shown)).not.toContain('authzPolicies')
    expect((await get('full', '?users=all', by)).status).toBe(403)
    const nobody = await server.userWith('full', [])
    expect((await get('full', '', nobody)).status).toBe(403)
  })

  it('shows nothing below what the caller may not see', async () => {
    const by = await server.userWith('full', ['manage-authorization'])
    const { meta } = await exportOf('full', '', by)
    expect(Object.keys(meta.documents)).not.toContain('authz-policy')
    expect(meta.omittedSections).toContain('clients')
  })

  it('has the revision as ETag and answers 304 while it stands', async () => {
    const first = await get('full')
    const etag = `"${first.body.revision}"`
    expect(first.headers['etag']).toBe(etag)
    const again = await get('full', '', server.admin, { 'if-none-match': `"1", W/${etag}` })
    expect([again.status, again.body]).toEqual([304, ''])
    const everybody = await get('full', '?users=all', server.admin, { 'if-none-match': etag })
    expect(everybody.status).toBe(200)
    await putRoles('full', [{ name: 'moves-on' }])
    expect((await get('full', '', server.admin, { 'if-none-match': etag })).status).toBe(200)
  })

  it('is the realm as it was at an earlier revision', async () => {
    await server.createRealm('old')
    await putRoles('old', [{ name: 'a', description: 'one' }, { name: 'b' }])
    const then = await exportOf('old', '?builtIns=true&ids=true')
    await server.admin.send('PUT', '/admin/realms/old/roles/a', { name: 'c', composites: ['b'] })
    await server.admin.send('DELETE', '/admin/realms/old/roles/b')
    await server.admin.send('PUT', '/admin/realms/old/settings', { displayName: 'New' })
    await putRoles('old', [{ name: 'b', description: 'another' }])
    const at = await exportOf('old', `?builtIns=true&ids=true&revision=${then.revision}`)
    expect(at).toEqual(then)
    const { body, status } = await get('old', '?revision=99')
    expect([status, body.code]).toEqual([404, 'not-found'])
    expect((await get('old', '?revision=1&users=all')).status).toBe(400)
    expect((await get('none')).status).toBe(404)
  })

  it('tells who changed what last, and what is gone', async () => {
    await server.createRealm('told')
    await putRoles('told', [{ name: 'kept' }, { name: 'gone' }, { name: 'again' }])
    const url = '/admin/realms/told/roles'
    await server.admin.send('PUT', `${url}/kept`, { name: 'kept', description: 'by hand' })
    await server.admin.send('DELETE', `${url}/gone`)
    await server.admin.send('DELETE', `${url}/again`)
    await server.admin.send('POST', url, { name: 'again' })
    const { meta, revision } = await exportOf('told', '?history=true')
    expect(meta.documents['role']?.['kept']?.lastChange).toEqual({
      revision: revision - 3,
      at: expect.any(Number),
      actor: server.admin.userId,
      actorName: 'admin',
      source: 'rest',
      message: null,
    })
    expect(meta.deleted).toEqual({
      role: { gone: expect.objectContaining({ revision: revision - 2, actorName: 'admin' }) },
    })
    expect((await exportOf('told')).meta.deleted).toBeUndefined()
  })

  it('holds no runtime document', async () => {
    await server.areas.realm.writer.write({
      realm: 'full',
      caller: pipeline,
      channel: runtimeChannel,
      operations: [
        {
          op: 'put',
          kind: Client,
          key: 'registered',
          doc: { clientId: 'registered' },
          secrets: {},
        },
      ],
    })
    expect(JSON.stringify(await exportOf('full'))).not.toContain('registered')
  })

  it('holds users that no file declares where they are asked for, with memberships', async () => {
    await server.createRealm('people')
    const url = '/admin/realms/people'
    await server.admin.send('POST', `${url}/organizations`, { alias: 'corp', name: 'Corp' })
    await server.admin.send('POST', `${url}/groups`, { name: 'Crew' })
    const fields = { username: 'ann', email: 'ann@host.example', attributes: { a: ['1'] } }
    const ann = (await server.admin.send('POST', `${url}/users`, fields)).body
    await server.admin.send('PUT', `${url}/users/ann/password`, { newPassword: `${secretMark} 42` })
    for (const place of ['organizations/corp', 'groups/%2FCrew'])
      await server.admin.send('PUT', `${url}/${place}/members/${ann.userId}`)
    expect((await exportOf('people'))['users']).toBeUndefined()
    const { users, meta } = await exportOf('people', '?users=all&ids=true')
    expect(users).toEqual([
      { ...fields, roles: ['user'], groups: ['/Crew'], organizations: ['corp'] },
    ])
    expect(meta.unmanagedUsers).toEqual({ ann: { id: ann.userId } })
    expect(meta.documents['user']).toBeUndefined()
    expect((await exportOf('people', '?users=all')).meta.unmanagedUsers).toEqual({ ann: {} })
  })

  it('is of one revision, however many write meanwhile', async () => {
    await server.createRealm('busy')
    const bulk = Array.from({ length: 600 }, (_, i) => ({ name: `m-${i}` }))
    await putRoles('busy', [...bulk, { name: 'a' }, { name: 'z' }, { name: 'only-0' }])
    const base = (await exportOf('busy', '?sections=roles')).revision
    let going = true
    const writing = (async () => {
      for (let n = 1; going; n += 1) {
        const put = (doc: Doc) =>
          ({ op: 'put', kind: Role, key: String(doc['name']), doc, secrets: {} }) as const
        const description = String(n)
        await server.areas.realm.writer.write({
          realm: 'busy',
          caller: pipeline,
          channel: estate,
          operations: [
            put({ name: 'a', description }),
            put({ name: 'z', description }),
            put({ name: `only-${n}` }),
            { op: 'delete', kind: Role, key: `only-${n - 1}` },
          ],
        })
      }
    })()
    for (let i = 0; i < 8; i += 1) {
      const { roles, revision } = await exportOf('busy', '?sections=roles')
      const list = roles as { name: string; description?: string }[]
      const n = revision - base
      expect(list.filter(({ name }) => !name.startsWith('m-'))).toEqual([
        { name: 'a', ...(n > 0 && { description: String(n) }) },
        { name: `only-${n}` },
        { name: 'z', ...(n > 0 && { description: String(n) }) },
      ])
      expect(list).toHaveLength(603)
    }
    going = false
    await writing
    expect((await exportOf('busy', '?sections=roles')).revision).toBeGreaterThan(base + 1)
  })

  it('takes thousands of documents, and others are answered meanwhile', async () => {
    await server.createRealm('large')
    const names = Array.from({ length: 5000 }, (_, i) => `role-${String(i).padStart(4, '0')}`)
    await putRoles(
      'large',
      names.map((name) => ({ name, description: `What ${name} is for.` })),
    )
    let turns = 0
    let waiting = true
    const tick = (): void => {
      turns += 1
      if (waiting) setImmediate(tick)
    }
    tick()
    const exported = await exportOf('large', '?ids=true&history=true')
    waiting = false
    expect(meaningOf(exported).map(({ key }) => key)).toEqual(names)
    expect(Object.keys(exported.meta.documents['role'] ?? {})).toHaveLength(5000)
    expect(kindNamed('role')).toBe(Role)
    // Each slice of the work gives way once at least.
    expect(turns).toBeGreaterThan(5000 / 250)
  })
})
