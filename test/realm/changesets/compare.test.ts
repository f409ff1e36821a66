/** POST …/compare: differences to the files in one request, with a limit and an audit event against guessing of secrets. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten, sectionOf } from '#schemas/realm/realm-document.ts'
import { sectionHash } from '#schemas/realm/section-hash.ts'
import type { CompareReply, CompareRequest } from '#schemas/wire/wire.ts'
import { type Operation, runtimeChannel } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { estate, pipeline, secretMark } from '../../support/filled-realm.ts'
import { type Client as Caller, startServer, type TestServer } from '../../support/server.ts'

const secretOf = (n: number): string => `${secretMark}-${n}`.padEnd(40, '-')
const hash = (n: number): string =>
  `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$${n}f65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4`

/** The hashes that a CLI sends for a realm file. */
const hashesOf = (realm: Doc): Record<string, string> => {
  const { entries, listings } = flatten(realm)
  const bySection = Map.groupBy(entries.map(desiredOf), ({ kind }) => sectionOf(kind))
  const names = new Set([...bySection.keys(), ...listings.map(({ kind }) => sectionOf(kind))])
  return Object.fromEntries(
    [...names].map((section) => [
      section,
      sectionHash((bySection.get(section) ?? []).map((one) => ({ ...one, kind: one.kind.kind }))),
    ]),
  )
}

const put = (kind: typeof Role, doc: Doc, secrets: Record<string, string> = {}): Operation => ({
  op: 'put',
  kind,
  key: String(doc[kind.keyFields[0] ?? '']),
  doc,
  secrets,
})

describe.each(backends)('compare on $name', (backend) => {
  let server: TestServer
  const file = {
    realm: 'acme',
    roles: [
      { name: 'support', description: 'Helps.' },
      { name: 'user', description: 'All.' },
    ],
    clients: [{ clientId: 'web', publicClient: true, redirectUris: ['https://a.example/b'] }],
  }
  beforeAll(async () => {
    // Time stands still, so that no limit is given back meanwhile.
    const moment = Date.now()
    server = await startServer(backend, { clock: { now: () => moment } })
    await server.createRealm('acme')
    await write('acme', [
      ...file.roles.map((doc) => put(Role, doc)),
      put(Client, file.clients[0] as Doc),
    ])
  })
  afterAll(() => server.close())

  const write = (realm: string, operations: readonly Operation[]) =>
    server.areas.realm.writer.write({ realm, caller: pipeline, channel: estate, operations })
  const send = (request: Partial<CompareRequest>, by: Caller = server.admin, realm = 'acme') =>
    by.send('POST', `/admin/realms/${realm}/compare`, {
      source: 'estate',
      sectionHashes: {},
      ...request,
    })
  const compare = async (...args: Parameters<typeof send>): Promise<CompareReply> => {
    const { status, body } = await send(...args)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const eventsIn = async (realm: string) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'actor', 'detail'])
      .where('realm', '=', realm)
      .where('type', '=', 'ADMIN_ACTION')
      .execute()

  it('finds no difference to the files that were applied, and tells nobody', async () => {
    const { revision, ...reply } = await compare({ sectionHashes: hashesOf(file) })
    expect(reply).toEqual({
      differingSections: [],
      differingSecrets: [],
      unmanaged: [],
      unmanagedCount: 0,
      orphaned: [],
      orphanedCount: 0,
    })
    expect(revision).toBe((await server.areas.realm.realms.find('acme'))?.revision)
    expect(await eventsIn('acme')).toEqual([])
  })

  it.each<[string, Doc]>([
    ['a changed field', { roles: [{ name: 'support' }, file.roles[1]] }],
    ['a new document', { roles: [...file.roles, { name: 'new' }] }],
    ['a document that is gone', { roles: [file.roles[0]] }],
    ['an empty list', { roles: [] }],
    ['protection', { roles: [{ ...file.roles[0], protected: true }, file.roles[1]] }],
  ])('names the section with %s, and no other', async (_, change) => {
    const { differingSections } = await compare({ sectionHashes: hashesOf({ ...file, ...change }) })
    expect(differingSections).toEqual(['roles'])
  })

  it('names the section of a child', async () => {
    const clients = [{ ...file.clients[0], roles: [{ name: 'reader' }] }]
    const { differingSections } = await compare({ sectionHashes: hashesOf({ ...file, clients }) })
    expect(differingSections).toEqual(['clients'])
  })

  it('lists what the source does not own, and what it owns in sections that are not given', async () => {
    await server.admin.send('POST', '/admin/realms/acme/roles', { name: 'by-hand' })
    const { roles } = hashesOf(file)
    const reply = await compare({ sectionHashes: { roles: roles ?? '' } })
    expect(reply.unmanaged).toEqual([{ kind: 'role', key: 'by-hand', owner: null }])
    expect(reply.orphaned).toEqual([{ kind: 'client', key: 'web' }])
    const other = await compare({ source: 'other', sectionHashes: { roles: roles ?? '' } })
    expect(other.differingSections).toEqual(['roles'])
    expect(other.unmanaged).toEqual([
      { kind: 'role', key: 'by-hand', owner: null },
      { kind: 'role', key: 'support', owner: 'estate' },
      { kind: 'role', key: 'user', owner: 'estate' },
    ])
    await server.admin.send('DELETE', '/admin/realms/acme/roles/by-hand')
  })

  it('names at most 200 documents of each sort, and says how many there are', async () => {
    await server.createRealm('many')
    const names = Array.from({ length: 205 }, (_, i) => `role-${i}`)
    await write(
      'many',
      names.map((name) => put(Role, { name })),
    )
    const hashes = hashesOf({ roles: [] })
    const other = await compare({ source: 'other', sectionHashes: hashes }, server.admin, 'many')
    expect([other.unmanaged.length, other.unmanagedCount]).toEqual([200, 205])
    const own = await compare({}, server.admin, 'many')
    expect([own.orphaned.length, own.orphanedCount]).toEqual([200, 205])
  })

  it('says which secrets differ, keeps none, and leaves one event', async () => {
    await server.createRealm('secretive')
    const users = ['ann', 'ben'].map((username, i) =>
      put(User, { username }, { '/passwordHash': hash(i), '/initialPassword': 'never kept' }),
    )
    const idp = {
      alias: 'dir',
      protocol: 'ldap',
      config: { url: 'ldaps://l.example', userSearchBase: 'o=x', bindPassword: secretOf(3) },
    }
    await server.admin.send('POST', '/admin/realms/secretive/identity-providers', idp)
    await write('secretive', [
      ...users,
      put(Client, { clientId: 'web' }, { '/secret': secretOf(1) }),
    ])
    const registered = put(Client, { clientId: 'registered' }, { '/secret': secretOf(5) })
    await server.areas.realm.writer.write({
      realm: 'secretive',
      caller: pipeline,
      channel: runtimeChannel,
      operations: [registered],
    })
    const given = (kind: string, key: string, pointer: string, value: string) => ({
      kind,
      key,
      pointer,
      value,
    })
    // Named to files about clients, and to files that let clients register.
    for (const section of ['clients', 'provisioning', 'users']) {
      const sectionHashes = { [section]: 'a'.repeat(64) }
      const { registeredCount } = await compare({ sectionHashes }, server.admin, 'secretive')
      expect([section, registeredCount]).toEqual([section, section === 'users' ? undefined : 1])
    }
    const secrets = [
      given('client', 'web', '/secret', secretOf(1)),
      given('user', 'ann', '/passwordHash', hash(0)),
      given('user', 'ben', '/passwordHash', hash(0)),
      given('user', 'ben', '/initialPassword', 'never kept either'),
      given('identity-provider', 'dir', '/config/bindPassword', secretOf(3)),
      given('client', 'new', '/secret', secretOf(4)),
      given('client', 'registered', '/secret', secretOf(5)),
    ]
    const reply = await compare({ secrets }, server.admin, 'secretive')
    // The client that does not exist yet is not among them: it will be made with its secret.
    expect(reply.differingSecrets).toEqual([{ kind: 'user', key: 'ben', pointer: '/passwordHash' }])
    const wrong = secrets.map((secret) => ({ ...secret, value: `${secret.value}x` }))
    const others = await compare({ secrets: wrong }, server.admin, 'secretive')
    expect(others.differingSecrets).toHaveLength(5)
    expect(JSON.stringify([reply, others])).not.toContain(secretMark)
    const events = await eventsIn('secretive')
    expect(events).toEqual(
      [1, 5].map((n) => ({
        type: 'ADMIN_ACTION',
        actor: server.admin.userId,
        detail: `compare: 7 secrets, ${n} differ`,
      })),
    )
  })

  it.each<[string, Partial<CompareRequest>, string]>([
    [
      'a section that there is not',
      { sectionHashes: { rolls: 'a'.repeat(64) } },
      '/sectionHashes/rolls',
    ],
    [
      'a kind that there is not',
      { secrets: [{ kind: 'clint', key: 'a', pointer: '/secret', value: 'x' }] },
      '/secrets/0/kind',
    ],
    [
      'a field that is no secret',
      { secrets: [{ kind: 'client', key: 'a', pointer: '/name', value: 'x' }] },
      '/secrets/0/pointer',
    ],
    [
      'two guesses at one secret',
      {
        secrets: ['x', 'y'].map((value) => ({
          kind: 'client',
          key: 'a',
          pointer: '/secret',
          value,
        })),
      },
      '/secrets/1',
    ],
  ])('refuses %s', async (_, request, field) => {
    const { status, body } = await send(request)
    expect(status).toBe(400)
    expect(body.errors[0].field).toBe(field)
    expect(JSON.stringify(body)).not.toContain('"y"')
  })

  it('takes the write permission of every kind that is asked about', async () => {
    const hashes = hashesOf(file)
    const roles = { roles: hashes['roles'] ?? '' }
    const keeper = await server.userWith('acme', ['manage-roles'])
    expect((await compare({ sectionHashes: roles }, keeper)).differingSections).toEqual([])
    expect((await send({ sectionHashes: hashes }, keeper)).status).toBe(403)
    const secrets = [{ kind: 'client', key: 'web', pointer: '/secret', value: secretOf(1) }]
    expect((await send({ secrets }, keeper)).status).toBe(403)
    const reader = await server.userWith('acme', ['view-clients', 'view-users', 'view-events'])
    expect(
      (await send({ sectionHashes: { clients: hashes['clients'] ?? '' } }, reader)).status,
    ).toBe(403)
    // What the source has below the clients counts too.
    const own = await server.userWith('acme', ['manage-clients'])
    const clients = { clients: hashes['clients'] ?? '' }
    expect((await compare({ sectionHashes: clients }, own)).differingSections).toEqual([])
    await server.admin.send('POST', '/admin/realms/acme/clients/web/roles', { name: 'hand' })
    expect((await compare({ sectionHashes: clients }, own)).differingSections).toEqual([])
  })

  it('answers 404 where there is no realm, so that it can be made', async () => {
    const { status, body } = await send({}, server.admin, 'nowhere')
    expect([status, body.code]).toEqual([404, 'not-found'])
  })

  it('is limited per caller where it takes secrets', async () => {
    await server.createRealm('guessed')
    const secrets = [{ kind: 'client', key: 'web', pointer: '/secret', value: 'a guess' }]
    const one = await server.userWith('guessed', ['manage-clients'])
    const answers = await Promise.all(
      Array.from({ length: 130 }, () => send({ secrets }, one, 'guessed')),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(10)
    expect(refused[0]?.headers['retry-after']).toBeDefined()
    expect((await send({}, one, 'guessed')).status).toBe(200)
    const other = await server.userWith('guessed', ['manage-clients'])
    expect((await send({ secrets }, other, 'guessed')).status).toBe(200)
  })

  it('takes ten thousand secrets at once', async () => {
    await server.createRealm('crowd')
    const names = Array.from({ length: 10_000 }, (_, i) => `client-${i}`)
    const secrets = names.map((key, i) => ({
      kind: 'client',
      key,
      pointer: '/secret',
      value: secretOf(i),
    }))
    const made = [7, 4321, 9999]
    await write(
      'crowd',
      made.map((i) => put(Client, { clientId: `client-${i}` }, { '/secret': secretOf(i % 4321) })),
    )
    const { differingSecrets } = await compare({ secrets }, server.admin, 'crowd')
    expect(differingSecrets.map(({ key }) => key)).toEqual(['client-4321', 'client-9999'])
  })
})
