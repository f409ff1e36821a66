/** Secrets that a rollback cannot restore: reported in advance, given by the caller, or left out explicitly. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { phc, put, remove, role, senderTo } from '../changesets/changeset.ts'

/** A document for every secret that is sent to a place, by the host of that place. */
const sent = [
  {
    kind: 'identity-provider',
    key: 'oidc',
    pointer: '/config/clientSecret',
    doc: (host: string) => ({
      alias: 'oidc',
      protocol: 'oidc',
      config: { issuer: 'https://id.example', clientId: 'us', tokenUrl: `https://${host}/token` },
    }),
  },
  {
    kind: 'identity-provider',
    key: 'ldap',
    pointer: '/config/bindPassword',
    doc: (host: string) => ({
      alias: 'ldap',
      protocol: 'ldap',
      config: { url: `ldaps://${host}`, userSearchBase: 'ou=people' },
    }),
  },
  {
    kind: 'messaging-provider',
    key: 'EMAIL/smtp',
    pointer: '/secret',
    doc: (host: string) => ({ channel: 'EMAIL', driver: 'smtp', config: { host, port: 587 } }),
  },
  {
    kind: 'scim-target',
    key: 'wiki',
    pointer: '/token',
    doc: (host: string) => ({ name: 'wiki', baseUrl: `https://${host}/scim` }),
  },
] as const

describe.each(backends)('secrets of a rollback on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const setUp = async (realm: string) => {
    const base = await server.createRealm(realm)
    const { apply } = senderTo(server, realm)
    const made = async (...all: Parameters<typeof apply>): Promise<number> => {
      const { status, body } = await apply(...all)
      expect(status, JSON.stringify(body)).toBe(200)
      return body.revision
    }
    const rollback = (n: number, body: object = {}) =>
      server.admin.send('POST', `${base}/revisions/${n}/rollback`, body)
    const compare = async (secrets: readonly object[], sectionHashes: object = {}) =>
      (
        await server.admin.send('POST', `${base}/compare`, {
          source: 'estate',
          sectionHashes,
          secrets,
        })
      ).body
    return { base, made, rollback, compare }
  }

  it.each(sent)(
    '$kind $pointer: one that would be sent elsewhere',
    async ({ kind, key, pointer, doc }) => {
      const realm = `moved-${key.toLowerCase().replace('/', '-')}`
      const { made, rollback, compare } = await setUp(realm)
      const at = { kind, key, pointer }
      const then = await made([
        put(kind, key, doc('one.example'), { secrets: { [pointer]: 'the first one' } }),
        role('then'),
      ])
      const changed = [
        put(kind, key, doc('two.example'), { secrets: { [pointer]: 'the second one' } }),
        remove('role', 'then'),
      ]
      await made(changed)
      const missing = [{ kind, key, pointers: [pointer], reason: 'moved' }]

      const trial = await rollback(then, { dryRun: true })
      expect([trial.status, trial.body.missing]).toEqual([200, missing])
      expect((await rollback(then)).status).toBe(400)

      // Let go: nothing that is stored is sent to the first place, and the next comparison tells.
      const dropped = await rollback(then, { dropSecrets: true })
      expect([dropped.status, dropped.body.missing]).toEqual([200, missing])
      for (const value of ['the first one', 'the second one'])
        expect((await compare([{ ...at, value }])).differingSecrets).toEqual([at])
      expect((await server.admin.send('GET', `/admin/realms/${realm}/roles/then`)).status).toBe(200)

      // Given: it is in force.
      await made(changed)
      const secrets = [{ ...at, value: 'the first one' }]
      const given = await rollback(then, { secrets })
      expect([given.status, given.body.missing]).toEqual([200, undefined])
      expect((await compare(secrets)).differingSecrets).toEqual([])
      expect(JSON.stringify(given.body)).not.toContain('the first one')
    },
  )

  it('names users that come back without credentials, and takes a password for them', async () => {
    const { base, made, rollback, compare } = await setUp('people')
    const password = 'A long first Password 77!'
    const then = await made([
      put('user', 'ann', { username: 'ann' }, { secrets: { '/initialPassword': password } }),
      put('user', 'ben', { username: 'ben' }, { secrets: { '/initialPassword': password } }),
      put('user', 'cem', { username: 'cem' }, { secrets: { '/passwordHash': phc } }),
    ])
    const gone = ['ann', 'ben', 'cem'].map((name) => remove('user', name))
    await made(gone)
    const lacks = (key: string) => ({
      kind: 'user',
      key,
      pointers: ['/initialPassword', '/passwordHash'],
      reason: 'not-kept',
    })
    const trial = await rollback(then, { dryRun: true })
    expect(trial.body.missing).toEqual(['ann', 'ben', 'cem'].map(lacks))
    const back = await rollback(then, {
      secrets: [{ kind: 'user', key: 'ann', pointer: '/initialPassword', value: password }],
    })
    expect([back.status, back.body.missing]).toEqual([200, [lacks('ben'), lacks('cem')]])
    const users = { users: '0'.repeat(64) }
    const { withoutCredentials } = await compare([], users)
    expect(withoutCredentials).toEqual(['ben', 'cem'].map((key) => ({ kind: 'user', key })))
    const set = await server.admin.send('PUT', `${base}/users/ben/password`, {
      newPassword: password,
    })
    expect(set.status).toBe(204)
    expect((await compare([], users)).withoutCredentials).toEqual([{ kind: 'user', key: 'cem' }])
  })

  it('refuses secrets that are none, and those of documents that it does not write', async () => {
    const { made, rollback } = await setUp('refused')
    const then = await made([role('a')])
    await made([role('b')])
    const value = 'a value'
    const refused = await rollback(then, {
      secrets: [
        { kind: 'client', key: 'web', pointer: '/secret', value },
        { kind: 'role', key: 'a', pointer: '/name', value },
      ],
    })
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toHaveLength(2)
    expect(JSON.stringify(refused.body)).not.toContain(value)
  })
})
