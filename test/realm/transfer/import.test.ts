/** POST …/import: an export brought in again, as one revision, nothing deleted. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { ChangesetReply, ImportReply, RealmExport } from '#schemas/wire/wire.ts'
import { backends } from '../../support/backends.ts'
import { estate, fillRealm, pipeline, secretMark } from '../../support/filled-realm.ts'
import { type Client as Caller, startServer, type TestServer } from '../../support/server.ts'

describe.each(backends)('import on $name', (backend) => {
  let server: TestServer
  let full: RealmExport
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('full')
    await fillRealm(server, 'full')
    const url = '/admin/realms/full'
    await server.admin.send('PUT', `${url}/settings`, { displayName: 'Full' })
    await server.admin.send('PUT', `${url}/roles/user`, { name: 'user' })
    await server.areas.realm.writer.write({
      realm: 'full',
      caller: pipeline,
      channel: estate,
      operations: [
        { op: 'put', kind: Role, key: 'kept', doc: { name: 'kept' }, secrets: {}, protected: true },
      ],
    })
    full = await exportOf('full', '?ids=true&history=true')
  })
  afterAll(() => server.close())

  const exportOf = async (realm: string, query = ''): Promise<RealmExport> =>
    (await server.admin.send('GET', `/admin/realms/${realm}/export${query}`)).body
  /** On purpose, where the document is of another realm. */
  const send = (realm: string, body: unknown, query = '', by: Caller = server.admin) => {
    const { realm: from } = body as { readonly realm?: unknown }
    const asked = typeof from === 'string' && from !== realm ? `fromRealm=${from}` : ''
    const all = [query.slice(1), asked].filter(Boolean).join('&')
    return by.send('POST', `/admin/realms/${realm}/import${all && `?${all}`}`, body)
  }
  const bring = async (...args: Parameters<typeof send>): Promise<ChangesetReply> => {
    const { status, body } = await send(...args)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const revisionOf = async (realm: string): Promise<number> =>
    (await server.areas.realm.realms.find(realm))?.revision ?? 0
  /** Without what is not configuration, and without the secrets, which an export does not hold. */
  const contentOf = ({ meta, formatVersion, realm, revision, ...sections }: RealmExport) => ({
    hashes: Object.fromEntries(
      Object.entries(meta.documents).map(([kind, all]) => [
        kind,
        Object.entries(all).map(([key, one]) => [key, one.hash, one.protected]),
      ]),
    ),
    sections: JSON.parse(JSON.stringify(sections), (name, value) =>
      name.endsWith('Set') && value === true ? undefined : value,
    ),
  })

  it('makes of an empty realm what was exported, by one revision', async () => {
    await server.createRealm('empty')
    const reply = await bring('empty', full)
    expect(reply).toMatchObject({ revision: 2, dryRun: false, deleted: 0 })
    const copy = await exportOf('empty')
    expect(contentOf(copy)).toEqual(contentOf(full))
    const [last] = (await server.admin.send('GET', '/admin/realms/empty/revisions?max=1')).body
    expect(last).toMatchObject({
      source: 'import',
      provenance: { realm: 'full', revision: String(full.revision) },
      created: reply.created,
    })
    expect(JSON.stringify([reply, copy])).not.toContain(secretMark)
    for (const documents of Object.values(copy.meta.documents))
      for (const { owner, origin } of Object.values(documents)) {
        expect(owner).toBeNull()
        expect(['manual', 'built-in']).toContain(origin)
      }
  })

  it.each(['', '?dryRun=true', '?fromRealm=third'])(
    'refuses a document of another realm, with %s as the query, and says how to go on',
    async (query) => {
      await server.createRealm(`other${query.length}`)
      const target = `other${query.length}`
      const before = await revisionOf(target)
      const { status, body } = await server.admin.send(
        'POST',
        `/admin/realms/${target}/import${query}`,
        full,
      )
      expect([status, body.errors?.[0]?.field]).toEqual([400, '/realm'])
      expect(body.detail).toContain('"full"')
      expect(body.detail).toContain('fromRealm=full')
      expect(await revisionOf(target)).toBe(before)
    },
  )

  it('tells the secrets that are made for new documents, once, and they are in force', async () => {
    await server.createRealm('told')
    const document = {
      formatVersion: 1,
      clients: [
        { clientId: 'job', serviceAccountsEnabled: true, grantTypes: ['client_credentials'] },
        { clientId: 'page', publicClient: true },
      ],
      webhooks: [{ name: 'hook', url: 'https://hook.example/', eventTypes: '*' }],
    }
    expect(await bring('told', document, '?dryRun=true')).toMatchObject({ madeSecrets: [] })
    const reply = (await bring('told', document)) as ImportReply
    expect(reply.madeSecrets).toEqual([
      { kind: 'client', key: 'job', pointer: '/secret', value: expect.any(String) },
      { kind: 'webhook', key: 'hook', pointer: '/secret', value: expect.any(String) },
    ])
    const [{ value } = { value: '' }] = reply.madeSecrets
    const fields = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'job',
      client_secret: value,
    })
    const token = await server.anonymous.send('POST', '/realms/told/token', `${fields}`, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(token.status, JSON.stringify(token.body)).toBe(200)
    expect(await bring('told', document)).toMatchObject({ changes: [], madeSecrets: [] })
    const events = await server.admin.send('GET', '/admin/realms/told/events?changes=true')
    expect(JSON.stringify(events.body)).not.toContain(value)
  })

  it('changes nothing in the realm that it came from, owners and secrets included', async () => {
    const before = await exportOf('full', '?ids=true')
    const everything = await exportOf('full', '?builtIns=true')
    expect(await bring('full', everything)).toMatchObject({ changes: [], created: 0, updated: 0 })
    expect(await exportOf('full', '?ids=true')).toEqual(before)
  })

  it('puts what it holds and leaves the rest', async () => {
    await server.createRealm('some')
    await server.admin.send('POST', '/admin/realms/some/roles', { name: 'own' })
    await server.admin.send('POST', '/admin/realms/some/roles', {
      name: 'both',
      description: 'old',
    })
    const roles = [
      { name: 'both', description: 'new' },
      { name: 'more', composites: ['both', 'own'] },
    ]
    const told = await bring('some', { formatVersion: 1, roles }, '?dryRun=true')
    expect(told).toMatchObject({ dryRun: true, created: 1, updated: 1, deleted: 0 })
    expect(await revisionOf('some')).toBe(3)
    const reply = await bring('some', { formatVersion: 1, roles })
    expect(reply.changes.map(({ op, key }) => [op, key]).sort()).toEqual([
      ['create', 'more'],
      ['update', 'both'],
    ])
    expect((await exportOf('some'))['roles']).toEqual([...roles, { name: 'own' }])
  })

  it('brings secrets in where the body has some, and answers none', async () => {
    await server.createRealm('given')
    const secret = `${secretMark} and long enough to be one`
    const clients = [{ clientId: 'web', secret }]
    const reply = await bring('given', { formatVersion: 1, clients })
    expect(reply.changes[0]?.secrets).toEqual(['/secret'])
    expect(JSON.stringify(reply)).not.toContain(secretMark)
    const { body } = await server.admin.send('POST', '/admin/realms/given/compare', {
      source: 'x',
      sectionHashes: {},
      secrets: [{ kind: 'client', key: 'web', pointer: '/secret', value: secret }],
    })
    expect(body.differingSecrets).toEqual([])
  })

  it('makes managed users of all users of an export, and keeps who they are', async () => {
    await server.createRealm('people')
    const url = '/admin/realms/people'
    const made = await server.admin.send('POST', `${url}/users`, {
      username: 'ann',
      firstName: 'Ann',
    })
    const all = await exportOf('people', '?users=all')
    await server.createRealm('others')
    await bring('others', all)
    expect((await server.admin.send('GET', '/admin/realms/others/users/ann')).body).toMatchObject({
      managed: true,
      firstName: 'Ann',
      roles: ['user'],
    })
    await bring('people', all)
    expect((await server.admin.send('GET', `${url}/users/ann`)).body).toMatchObject({
      userId: made.body.userId,
      managed: true,
    })
    const users = Array.from({ length: 20_001 }, (_, i) => ({ username: `u${i}` }))
    const { status, body } = await send('others', { formatVersion: 1, users })
    expect([status, body.errors[0].field]).toEqual([400, '/users'])
    expect(body.detail).toContain('POST /users/import')
  })

  it.each<[string, Doc, string, string]>([
    ['no format version', {}, '/formatVersion', 'required'],
    ['another format version', { formatVersion: 2 }, '/formatVersion', 'const'],
    ['an unknown section', { formatVersion: 1, cleints: [] }, '/cleints', 'unknown-field'],
    ['a section that is no list', { formatVersion: 1, roles: {} }, '/roles', 'type'],
    [
      'an unknown field',
      { formatVersion: 1, roles: [{ name: 'a', nam: 1 }] },
      '/roles/0/nam',
      'unknown-field',
    ],
    [
      'an unknown field of a child',
      { formatVersion: 1, clients: [{ clientId: 'a', roles: [{ name: 'r', x: 1 }] }] },
      '/clients/0/roles/0/x',
      'unknown-field',
    ],
    [
      'an unknown field in a tree',
      { formatVersion: 1, groups: [{ name: 'A', groups: [{ name: 'B', x: 1 }] }] },
      '/groups/0/groups/0/x',
      'unknown-field',
    ],
    [
      'a document twice',
      { formatVersion: 1, roles: [{ name: 'a' }, { name: 'a' }] },
      '/roles/1',
      'duplicate',
    ],
    [
      'a reference that leads nowhere',
      { formatVersion: 1, roles: [{ name: 'a' }, { name: 'b', composites: ['c'] }] },
      '/roles/1/composites',
      'missing-reference',
    ],
    [
      'fields that do not agree',
      {
        formatVersion: 1,
        clients: [{ clientId: 'a', publicClient: true, grantTypes: ['client_credentials'] }],
      },
      '/clients/0/grantTypes',
      'public-client',
    ],
    [
      'a rename',
      { formatVersion: 1, roles: [{ name: 'a', renamedFrom: 'b' }] },
      '/roles/0/renamedFrom',
      'unknown-field',
    ],
    [
      'a singleton that is none',
      { formatVersion: 1, settings: { displayNam: 'x' } },
      '/settings/displayNam',
      'unknown-field',
    ],
  ])('refuses %s, points at it, and writes nothing', async (_, body, field, code) => {
    const before = await revisionOf('full')
    const answer = await send('full', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(400)
    expect(answer.body.errors).toContainEqual(expect.objectContaining({ field, code }))
    expect(await revisionOf('full')).toBe(before)
  })

  it('takes the write permission of every kind in it, and nobody gains more than they hold', async () => {
    const by = await server.userWith('full', ['manage-roles'])
    await bring('full', { formatVersion: 1, roles: [{ name: 'by-keeper' }] }, '', by)
    const clients = [{ clientId: 'by-keeper', publicClient: true }]
    expect((await send('full', { formatVersion: 1, clients }, '', by)).status).toBe(403)
    expect((await send('full', { formatVersion: 1, clients }, '?dryRun=true', by)).status).toBe(403)
    const roles = [{ name: 'strong', permissions: ['realm-admin'] }]
    expect((await send('full', { formatVersion: 1, roles }, '', by)).status).toBe(403)
    const reader = await server.userWith('full', ['view-users', 'view-clients'])
    expect((await send('full', full, '', reader)).status).toBe(403)
  })

  it('answers 404 where there is no realm', async () => {
    expect((await send('none', full)).status).toBe(404)
  })
})
