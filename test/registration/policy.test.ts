/** What a realm lets registered clients be, at registration and again at every update (CVE-2026-15572, 9705, 16102). */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ruledFields } from '#server/provisioning/dcr/policy.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { insertRows } from '#server/storage/statements.ts'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'
import { refusals } from './refusals.ts'

describe.each(anyBackend)('the policy of registration on $name', (backend) => {
  let site: RegistrationSite
  let token: string
  let now = Date.now()
  const clean = {
    trustedHosts: [],
    allowedGrantTypes: [],
    allowedAuthMethods: [],
    allowedScopes: [],
    anonymousAllowed: false,
    consentRequired: true,
    maxClients: 10_000,
    unusedClientLifespan: 7_776_000,
  }
  beforeAll(async () => {
    site = await openRegistration(backend, { clock: { now: () => now } })
    token = await site.initialToken({ count: 100_000, expiration: 0 })
    await site.allow(clean)
  })
  afterAll(() => site.close())

  const documentOf = async (id: string) => (await site.admin('GET', `/clients/${id}`)).body
  const idOf = (body: { registration_client_uri: string }): string =>
    body.registration_client_uri.split('/').at(-1) ?? ''

  it.each(refusals)('refuses %s, also in an update', async (_name, policy, metadata, error) => {
    await site.allow(clean)
    const known = (await site.register(web, token)).body
    await site.allow(policy)
    const first = await site.register(metadata, token)
    expect([first.status, first.body.error]).toEqual([400, error])
    const body = { ...metadata, client_id: known.client_id }
    const { registration_client_uri: url, registration_access_token: own } = known
    const later = await site.manage('PUT', url, own, body)
    expect([later.status, later.body.error]).toEqual([400, error])
    // Nothing has changed, and the token is the same.
    expect((await site.manage('GET', url, own)).body.redirect_uris).toEqual(web.redirect_uris)
    await site.allow(clean)
  })

  it('takes a frame at logout of the same site', async () => {
    const metadata = { ...web, frontchannel_logout_uri: new URL('/out', web.redirect_uris[0]).href }
    const { status, body } = await site.register(metadata, token)
    expect([status, body.frontchannel_logout_uri]).toEqual([201, metadata.frontchannel_logout_uri])
  })

  it('takes hosts below a pattern, and loopback addresses that are listed', async () => {
    await site.allow({ ...clean, trustedHosts: ['*.shop.example', 'localhost'] })
    for (const uri of [
      'https://a.shop.example/cb',
      'https://a.b.shop.example/',
      'http://localhost:8123/cb',
    ])
      expect((await site.register({ redirect_uris: [uri] }, token)).status).toBe(201)
    expect((await site.register({ redirect_uris: ['http://127.0.0.1/'] }, token)).status).toBe(400)
    await site.allow(clean)
  })

  it('a public client may ask its users for more scopes than it named; no other client may', async () => {
    const named = { ...web, scope: 'openid email' }
    const scopesOf = async (
      metadata: object,
      policy: Readonly<Record<string, unknown>> = clean,
    ) => {
      await site.allow(policy)
      const { body } = await site.register(metadata, token)
      return [body.scope, [...(await documentOf(idOf(body))).scopes].sort()]
    }
    const publicClient = { ...named, token_endpoint_auth_method: 'none' }
    const [, all] = await scopesOf(web)
    expect(all.length).toBeGreaterThan(1)
    expect(await scopesOf(publicClient)).toEqual(['openid email', all])
    expect(await scopesOf(named)).toEqual(['openid email', ['email']])
    const withoutConsent = { ...clean, consentRequired: false }
    expect(await scopesOf(publicClient, withoutConsent)).toEqual(['openid email', ['email']])
    const device = 'urn:ietf:params:oauth:grant-type:device_code'
    const policy = { ...clean, allowedGrantTypes: ['authorization_code', 'device'] }
    const onDevices = { ...publicClient, grant_types: ['authorization_code', device] }
    expect(await scopesOf(onDevices, policy)).toEqual(['openid email', ['email']])
    await site.allow(clean)
  })

  it('an update cannot lift the consent that the realm asks for', async () => {
    await site.allow({ ...clean, consentRequired: false })
    const body = (await site.register(web, token)).body
    expect((await documentOf(idOf(body))).consentRequired).toBe(false)
    await site.allow(clean)
    const { registration_client_uri: url, registration_access_token: own, client_id } = body
    await site.manage('PUT', url, own, { ...web, client_id, consentRequired: false })
    expect((await documentOf(idOf(body))).consentRequired).toBe(true)
  })

  it('registers as many clients as the realm takes, whoever comes at the same moment', async () => {
    const count = (await site.admin('GET', '/clients')).body.filter(
      ({ clientId }: { clientId: string }) => clientId.startsWith('registered-'),
    ).length
    await site.allow({ ...clean, maxClients: count + 3 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => site.register(web, token)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(7)
    await site.allow(clean)
  })

  it('takes anonymous registrations where the realm says so, and no wrong token even then', async () => {
    await site.allow({ ...clean, anonymousAllowed: true })
    expect((await site.register(web)).status).toBe(201)
    expect((await site.register(web, 'wrong')).status).toBe(401)
    await site.allow(clean)
  })

  it('no metadata reaches a field that gives rights, whatever the list of metadata says (CVE-2026-15572, CVE-2026-16102)', async () => {
    const names = { realm: 'master', client: 'iamctl-cli' }
    // Named one by one: a field that is added to the metadata by mistake is still refused here.
    const rights = {
      enabled: false,
      serviceAccountsEnabled: true,
      serviceAccountRoles: ['admin', 'realm-admin'],
      serviceAccountClientRoles: { 'realm-management': ['realm-admin'], [names.client]: ['admin'] },
      adminAccess: 'full',
      authorizationServicesEnabled: true,
      authorizationSettings: { policyEnforcementMode: 'DISABLED' },
      consentRequired: false,
      fullScopeAllowed: true,
      defaultScopes: ['account', 'admin:plan'],
      audiences: [names.realm],
      requirePkce: false,
      profile: 'none',
      accessTokenLifespan: 86_400,
      attributes: { 'pkce.code.challenge.method': 'plain' },
      selfRegistered: false,
      protocolMappers: [{ name: 'roles', protocolMapper: 'oidc-hardcoded-role-mapper' }],
    }
    const snake = Object.fromEntries(
      Object.entries(rights).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    )
    const reached = async (body: { registration_client_uri: string }) => {
      const document = await documentOf(idOf(body))
      return Object.fromEntries(Object.keys(rights).map((name) => [name, document[name]]))
    }
    const expected = await reached((await site.register(web, token)).body)
    expect(expected).toMatchObject({ enabled: true, consentRequired: true, selfRegistered: true })
    const made = await site.register({ ...rights, ...snake, ...web }, token)
    expect(made.status).toBe(201)
    expect(await reached(made.body)).toEqual(expected)
    const { registration_client_uri: url, registration_access_token: own, client_id } = made.body
    const update = await site.manage('PUT', url, own, { ...rights, ...snake, ...web, client_id })
    expect(update.status).toBe(200)
    expect(await reached(made.body)).toEqual(expected)
  })

  it('no metadata reaches a field of the client that is not its own: property over all names', async () => {
    const properties = Object.keys(Client.spec.properties ?? {})
    const snake = (name: string) => name.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
    const beyond = properties.filter(
      (name) => !['id', 'clientId', 'secret', ...ruledFields].some((one) => one === name),
    )
    const values = fc.oneof(
      fc.boolean(),
      fc.constantFrom('realm-admin', 'full', 'none', 'plan', 'always', 'admin:plan'),
      fc.constant(['realm-admin']),
      fc.constant({ policyEnforcementMode: 'DISABLED' }),
      fc.integer({ min: 1, max: 1000 }),
    )
    const plain = (await site.register(web, token)).body
    const expected = await documentOf(idOf(plain))
    const strange = fc.dictionary(
      fc.constantFrom(
        ...beyond,
        ...beyond.map(snake),
        'mappers',
        'protocolMappers',
        'roles',
        'agentId',
        'agent_id',
        'origin',
        'owner',
        'protected',
        'permissions',
        'default_scopes',
      ),
      values,
      { maxKeys: 12 },
    )
    const unchanged = (document: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(beyond.map((name) => [name, document[name]]))
    // An administrator has set some of them: an update leaves them as they are.
    const kept = {
      ...expected,
      accessTokenLifespan: 60,
      description: 'reviewed',
      requirePkce: true,
    }
    await site.admin('PUT', `/clients/${idOf(plain)}`, kept)
    let own: string = plain.registration_access_token
    await fc.assert(
      fc.asyncProperty(strange, async (more) => {
        const made = await site.register({ ...more, ...web }, token)
        expect(made.status).toBe(201)
        expect(unchanged(await documentOf(idOf(made.body)))).toEqual(unchanged(expected))
        const update = { ...more, ...web, client_id: plain.client_id }
        const updated = await site.manage('PUT', plain.registration_client_uri, own, update)
        expect(updated.status).toBe(200)
        own = updated.body.registration_access_token
        expect(unchanged(await documentOf(idOf(plain)))).toEqual(unchanged(kept))
        // As many as one address may send in a minute.
        now += 60_000
      }),
      { numRuns: 30 },
    )
  })

  it('deletes clients that are not used for as long as the realm says, and no others', async () => {
    await site.allow({ ...clean, unusedClientLifespan: 3600 })
    const old = (await site.register(web, token)).body
    const adopted = (await site.register(web, token)).body
    await site.server.areas.realm.writer.write({
      realm: 'acme',
      caller: { actor: 'system', sourceIp: '127.0.0.1', permissions: new Set() },
      channel: { via: 'changeset', origin: 'declared', owner: 'files' },
      operations: [
        {
          op: 'put',
          kind: Client,
          key: adopted.client_id,
          doc: (before) => before,
          secrets: {},
        },
      ],
    })
    now += 2 * 3_600_000
    const young = (await site.register(web, token)).body
    const { redirect_uris } = web
    const seen = {
      grant_type: 'authorization_code',
      code: 'x',
      redirect_uri: redirect_uris[0] ?? '',
    }
    const used = (await site.register(web, token)).body
    now += 3_000_000
    await site.post('/token', {
      ...seen,
      client_id: used.client_id,
      client_secret: used.client_secret,
    })
    now += 700_000
    await tidy(site.server.areas)
    const clients = (await site.admin('GET', '/clients')).body
    const names = new Set(clients.map(({ clientId }: { clientId: string }) => clientId))
    expect([old, adopted, young, used].map(({ client_id }) => names.has(client_id))).toEqual([
      false,
      true,
      false,
      true,
    ])
    await site.allow(clean)
  })

  it('deletes an unused client however many are older and stay', async () => {
    await site.allow({ ...clean, unusedClientLifespan: 60 })
    const { storage, realm } = site.server.areas
    const { effects } = await realm.writer.write({
      realm: 'acme',
      caller: { actor: 'system', sourceIp: '127.0.0.1', permissions: new Set() },
      channel: { via: 'changeset', origin: 'declared', owner: 'files' },
      operations: Array.from({ length: 100 }, (_, i) => ({
        op: 'put' as const,
        kind: Client,
        key: `adopted-${i}`,
        doc: () => ({ clientId: `adopted-${i}` }),
        secrets: {},
      })),
    })
    const rows = effects.map(({ after }) => ({
      client_id: after?.id ?? '',
      realm: 'acme',
      source: 'registration' as const,
      token_hash: null,
      metadata: '{}',
      registered_at: 0,
      last_used_at: 0,
      fetched_at: null,
      fresh_until: null,
    }))
    await storage.commit(insertRows(storage.db, 'registered_clients', rows))
    const { client_id } = (await site.register(web, token)).body
    now += 600_000
    await tidy(site.server.areas)
    const names = (await site.admin('GET', '/clients')).body.map(
      (one: { clientId: string }) => one.clientId,
    )
    expect(names).toContain('adopted-99')
    expect(names).not.toContain(client_id)
    await realm.writer.write({
      realm: 'acme',
      caller: { actor: 'system', sourceIp: '127.0.0.1', permissions: new Set() },
      channel: { via: 'changeset', origin: 'declared', owner: 'files' },
      operations: rows.map((_, i) => ({ op: 'delete', kind: Client, key: `adopted-${i}` })),
    })
    await site.allow(clean)
  })

  it('a client that the configuration refers to stays, and cannot delete itself', async () => {
    await site.allow({ ...clean, unusedClientLifespan: 60 })
    const body = (await site.register(web, token)).body
    const id = idOf(body)
    await site.admin('POST', '/workload-identity', {
      name: 'pipeline',
      issuer: 'https://issuer.example',
      subject: 'job',
      audience: 'here',
      clientId: body.client_id,
    })
    const { registration_client_uri: url, registration_access_token: own } = body
    const refused = await site.manage('DELETE', url, own)
    expect([refused.status, refused.body.error]).toEqual([403, 'access_denied'])
    now += 600_000
    await tidy(site.server.areas)
    expect((await documentOf(id)).clientId).toBe(body.client_id)
    await site.allow(clean)
  })

  it('an initial access token ends with its time', async () => {
    const short = await site.initialToken({ count: 5, expiration: 60 })
    expect((await site.register(web, short)).status).toBe(201)
    now += 61_000
    expect((await site.register(web, short)).status).toBe(401)
  })

  it('a client that files own is no longer changed by itself', async () => {
    const body = (await site.register(web, token)).body
    await site.server.areas.realm.writer.write({
      realm: 'acme',
      caller: { actor: 'system', sourceIp: '127.0.0.1', permissions: new Set() },
      channel: { via: 'changeset', origin: 'declared', owner: 'files' },
      operations: [
        { op: 'put', kind: Client, key: body.client_id, doc: (before) => before, secrets: {} },
      ],
    })
    const { registration_client_uri: url, registration_access_token: own, client_id } = body
    expect((await site.manage('GET', url, own)).status).toBe(200)
    expect((await site.manage('PUT', url, own, { ...web, client_id })).status).toBe(403)
    expect((await site.manage('DELETE', url, own)).status).toBe(403)
  })
})
