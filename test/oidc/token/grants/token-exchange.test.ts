/** Token exchange (RFC 8693): who may exchange what, and that nothing grows by it. */

import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf } from '#server/tokens/client.ts'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../../fixture.ts'
import { change } from '../../relying-party.ts'
import { addUser, issueGrant, issuerOf } from '../../users.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessType = 'urn:ietf:params:oauth:token-type:access_token'
const idType = 'urn:ietf:params:oauth:token-type:id_token'

describe.each(backends)('token exchange on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let app: TestClient
  let service: TestClient
  let stranger: TestClient
  let alice: UserRow
  let grant: TokenGrantRow

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    for (const name of ['phone', 'address']) await site.admin('POST', '/client-scopes', { name })
    app = await site.client({
      clientId: 'app',
      grantTypes: ['authorization_code', 'client_credentials', 'token-exchange'],
      scopes: ['profile', 'email', 'offline_access'],
      audiences: ['service'],
    })
    service = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials', 'token-exchange'],
      scopes: ['profile', 'phone'],
      defaultScopes: ['address'],
      audiences: ['backend'],
    })
    await site.admin('PUT', `/clients/${service.id}/allowed-resources`, ['https://api.example'])
    stranger = await site.client({ clientId: 'stranger', grantTypes: ['token-exchange'] })
    alice = await addUser(site, { username: 'alice' })
    grant = (await issueGrant(site, app, alice)).grant
  })
  afterAll(() => site.close())

  const mint = async (
    client: TestClient,
    more: { user?: UserRow; scope?: string[]; claims?: Claims; jkt?: string; of?: string } = {},
  ): Promise<string> => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', client.id)
    if (!document) throw new Error(`no client ${client.clientId}`)
    const { user, scope = [], claims, jkt, of = grant.id } = more
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      scope,
      ...(user ? { user, authentication: { grantId: of } } : {}),
      claims,
      jkt,
    })
    return token
  }
  const ofAlice = (scope = ['openid', 'profile', 'email'], claims?: Claims) =>
    mint(app, { user: alice, scope, ...(claims ? { claims } : {}) })
  const exchange = (
    { clientId, secret }: TestClient,
    subject: string,
    more: Record<string, string> = {},
  ) =>
    site.post('/token', {
      grant_type: grantType,
      client_id: clientId,
      client_secret: secret,
      subject_token: subject,
      subject_token_type: accessType,
      ...more,
    })
  const refusal = async (...given: Parameters<typeof exchange>): Promise<unknown> => {
    const { status, body } = await exchange(...given)
    return [status, body.error]
  }

  it('gives a service a token of its own about the same user', async () => {
    const { status, body } = await exchange(service, await ofAlice(), { audience: 'backend' })
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual([
      'access_token',
      'expires_in',
      'issued_token_type',
      'scope',
      'token_type',
    ])
    expect(body).toMatchObject({ token_type: 'Bearer', issued_token_type: accessType })
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: alice.id,
      client_id: 'service',
      aud: 'backend',
      jti: expect.stringContaining(`.${grant.id}`),
    })
    const [event] = await site.events('TOKEN_EXCHANGE')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: alice.id })
    expect(event?.detail).toBe('token-exchange from app')
  })

  it('works with openid-client', async () => {
    const config = await openid.discovery(
      new URL(site.issuer),
      service.clientId,
      undefined,
      openid.ClientSecretPost(service.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    expect(config.serverMetadata().grant_types_supported).toContain(grantType)
    const tokens = await openid.genericGrantRequest(config, grantType, {
      subject_token: await ofAlice(),
      subject_token_type: accessType,
      resource: 'https://api.example',
    })
    expect(claimsOf(tokens.access_token)).toMatchObject({
      sub: alice.id,
      aud: 'https://api.example',
    })
  })

  it('never widens the scope: what the subject has and the client may have (zitadel 02d07e95)', async () => {
    const subject = await ofAlice()
    expect((await exchange(service, subject)).body.scope).toBe('openid profile')
    expect((await exchange(service, subject, { scope: 'profile' })).body.scope).toBe('profile')
    // Allowed to the client, and not in the subject's token; then the other way round.
    expect(await refusal(service, subject, { scope: 'phone' })).toEqual([400, 'invalid_scope'])
    expect(await refusal(service, subject, { scope: 'email' })).toEqual([400, 'invalid_scope'])
    const offline = await ofAlice(['openid', 'offline_access'])
    expect((await exchange(app, offline)).body.scope).toBe('openid')
    expect(await refusal(app, offline, { scope: 'offline_access' })).toEqual([400, 'invalid_scope'])
  })

  it('lasts no longer than what it came from', async () => {
    const subject = await ofAlice()
    now += 200_000
    const { body } = await exchange(service, subject)
    expect(body.expires_in).toBeLessThanOrEqual(100)
    expect(claimsOf(body.access_token)['exp']).toBeLessThanOrEqual(Number(claimsOf(subject)['exp']))
    now += 101_000
    expect(await refusal(service, subject)).toEqual([400, 'invalid_request'])
  })

  it('is for whom the token was issued to and whom it is for', async () => {
    const subject = await ofAlice()
    expect(await refusal(stranger, subject)).toEqual([400, 'invalid_request'])
    expect((await exchange(app, subject)).status).toBe(200)
    expect((await site.events('TOKEN_EXCHANGE'))[1]).toMatchObject({
      outcome: 'FAILURE',
      actor: stranger.id,
    })
  })

  it('refuses targets that the client may not ask for', async () => {
    const subject = await ofAlice()
    for (const target of [{ audience: 'elsewhere' }, { resource: 'https://other.example' }])
      expect(await refusal(service, subject, target)).toEqual([400, 'invalid_target'])
    const { body } = await exchange(service, subject, {
      audience: 'backend',
      resource: 'https://api.example',
    })
    expect(claimsOf(body.access_token)['aud']).toEqual(['https://api.example', 'backend'])
  })

  it('refuses what is missing or of another type, and drops nothing in silence (CVE-2026-9704)', async () => {
    const subject = await ofAlice()
    for (const change of [
      { subject_token: '' },
      { subject_token_type: '' },
      { subject_token_type: idType },
      { subject_token: 'nonsense' },
      { subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
      { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
      { subject_token_type: 'constructor' },
      { subject_token_type: '__proto__' },
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      { requested_token_type: idType },
      { actor_token: 'nonsense', actor_token_type: accessType },
      { actor_token: await mint(service) },
      { actor_token_type: accessType },
      { actor_token: await mint(app), actor_token_type: accessType },
    ])
      expect(await refusal(service, subject, change)).toEqual([400, 'invalid_request'])
  })

  it('refuses a subject of another realm (CVE-2026-9094)', async () => {
    await site.server.createRealm('other')
    const made = await site.server.admin.send('POST', '/admin/realms/other/clients', {
      clientId: 'app',
      grantTypes: ['client_credentials'],
      audiences: ['service'],
    })
    const answer = await fetch(`${site.issuer.replace('acme', 'other')}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'app',
        client_secret: made.body.secret,
      }),
    })
    const { access_token } = (await answer.json()) as { access_token: string }
    expect(access_token).toMatch(/^ey/)
    expect(await refusal(service, access_token)).toEqual([400, 'invalid_request'])
    expect(
      await refusal(service, await ofAlice(), {
        actor_token: access_token,
        actor_token_type: accessType,
      }),
    ).toEqual([400, 'invalid_request'])
  })

  it('names who acts, and who acted before, five at most', async () => {
    const actor = { actor_token: await mint(service), actor_token_type: accessType }
    const { body } = await exchange(service, await ofAlice(), actor)
    const itself = { sub: service.id, client_id: 'service' }
    expect(claimsOf(body.access_token)['act']).toEqual(itself)
    const chained = await ofAlice(['openid'], { act: { sub: 'first' } })
    expect(claimsOf((await exchange(service, chained, actor)).body.access_token)['act']).toEqual({
      ...itself,
      act: { sub: 'first' },
    })
    // Without a new actor the chain stays.
    expect(claimsOf((await exchange(service, chained)).body.access_token)['act']).toEqual({
      sub: 'first',
    })
    const nested = (depth: number): Claims =>
      depth === 1 ? { sub: 'a' } : { sub: 'a', act: nested(depth - 1) }
    const four = await ofAlice(['openid'], { act: nested(4) })
    expect((await exchange(service, four, actor)).status).toBe(200)
    const five = await ofAlice(['openid'], { act: nested(5) })
    expect(await refusal(service, five, actor)).toEqual([400, 'invalid_request'])
  })

  it('honours may_act (§4.4)', async () => {
    const allowing = (may_act: unknown) => ofAlice(['openid'], { may_act })
    const good = await exchange(service, await allowing({ client_id: 'service' }))
    expect(claimsOf(good.body.access_token)).toMatchObject({
      act: { sub: service.id, client_id: 'service' },
      may_act: { client_id: 'service' },
    })
    const bySub = await allowing({ sub: service.id, iss: site.issuer })
    expect((await exchange(service, bySub)).status).toBe(200)
    for (const named of [
      { client_id: 'app' },
      { sub: 'somebody' },
      { sub: service.id, iss: 'https://other.example' },
      { sub: service.id, unknown: true },
      {},
      'service',
    ])
      expect(await refusal(service, await allowing(named))).toEqual([400, 'invalid_request'])
  })

  it('honours may_act that a mapper of the client writes, and hands it on once', async () => {
    const written = async ({ id }: TestClient, client_id: string): Promise<void> => {
      await site.admin('POST', `/clients/${id}/mappers`, {
        name: 'may_act',
        protocolMapper: 'oidc-hardcoded-claim-mapper',
        config: {
          'claim.name': 'may_act',
          'claim.value': JSON.stringify({ client_id }),
          'jsonType.label': 'JSON',
        },
      })
    }
    const [front, back] = await Promise.all(
      ['front', 'back'].map((clientId) =>
        site.client({
          clientId,
          grantTypes: ['client_credentials', 'token-exchange'],
          audiences: ['back', 'stranger'],
        }),
      ),
    )
    if (!front || !back) throw new Error('no clients')
    await written(front, 'back')
    await written(back, 'stranger')
    const subject = await site.token(front)
    expect(await refusal(stranger, subject)).toEqual([400, 'invalid_request'])
    const { status, body } = await exchange(back, subject)
    expect(status).toBe(200)
    const [, payload = ''] = body.access_token.split('.')
    const text = Buffer.from(payload, 'base64url').toString()
    expect(text.match(/"may_act"/g)).toHaveLength(1)
    expect(JSON.parse(text).may_act).toEqual({ client_id: 'back' })
  })

  it('is for confidential clients that list it', async () => {
    await site.client({
      clientId: 'page',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['token-exchange'],
    })
    const page = await site.post('/token', {
      grant_type: grantType,
      client_id: 'page',
      subject_token: await ofAlice(),
      subject_token_type: accessType,
    })
    expect([page.status, page.body.error]).toEqual([400, 'unauthorized_client'])
    const other = await site.client({ clientId: 'other', grantTypes: ['client_credentials'] })
    expect(await refusal(other, await ofAlice())).toEqual([400, 'unauthorized_client'])
  })

  it('takes the token of a service account from its own client and from whom it is for', async () => {
    const own = await exchange(service, await mint(service))
    expect(claimsOf(own.body.access_token)['sub']).toBe(service.id)
    const batch = await site.client({ clientId: 'batch', audiences: ['service'] })
    expect(await refusal(stranger, await mint(batch))).toEqual([400, 'invalid_request'])
    const subject = await mint(batch, { scope: ['profile', 'email'] })
    const { body } = await exchange(service, subject, { audience: 'backend' })
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: batch.id,
      client_id: 'service',
      aud: 'backend',
      scope: 'profile',
    })
    // It is about the account: what is left of it ends with that client.
    const as = { client_id: service.clientId, client_secret: service.secret }
    const isActive = async () =>
      (await site.post('/introspect', { token: body.access_token, ...as })).body.active
    expect(await isActive()).toBe(true)
    await change(site, `/clients/${batch.id}`, { enabled: false })
    expect(await isActive()).toBe(false)
    await change(site, `/clients/${batch.id}`, { enabled: true })
    expect(await isActive()).toBe(true)
    now += 2000
    await site.admin('POST', '/not-before', { kind: 'client', id: batch.id })
    expect(await isActive()).toBe(false)
  })

  it('gives the roles of the service account that the token is about, not of the client', async () => {
    for (const name of ['of-app', 'of-service']) await site.admin('POST', '/roles', { name })
    for (const [{ id }, name] of [
      [app, 'of-app'],
      [service, 'of-service'],
    ] as const) {
      await change(site, `/clients/${id}`, { serviceAccountsEnabled: true })
      await site.admin('POST', `/clients/${id}/service-account/roles`, { name })
    }
    const { body } = await exchange(service, await mint(app))
    expect(claimsOf(body.access_token)['realm_access']).toEqual({ roles: ['of-app'] })
  })

  describe('with an id token', () => {
    const idTokenOf = async (
      client: TestClient,
      { user = alice, of = grant }: { user?: UserRow; of?: TokenGrantRow } = {},
    ): Promise<string> => {
      const issuer = await issuerOf(site)
      const document = await issuer.view.byId('client', client.id)
      if (!document) throw new Error(`no client ${client.clientId}`)
      return site.server.areas.tokens.mint.idToken({
        issuer,
        client: clientOf(document),
        user,
        scope: ['openid'],
        authentication: { grantId: of.id, authTime: now, acr: '1' },
      })
    }
    const asId = { subject_token_type: idType }

    it('gives the client that it was issued to a token of the same grant', async () => {
      const of = (await issueGrant(site, app, alice, { scope: ['openid', 'profile'] })).grant
      const { status, body } = await exchange(app, await idTokenOf(app, { of }), asId)
      expect(status).toBe(200)
      expect(body.scope).toBe('openid profile')
      expect(claimsOf(body.access_token)).toMatchObject({
        sub: alice.id,
        client_id: 'app',
        jti: expect.stringContaining(`.${of.id}`),
        acr: '1',
        auth_time: Math.floor(now / 1000),
      })
      expect(await refusal(app, await idTokenOf(app, { of }), { ...asId, scope: 'email' })).toEqual(
        [400, 'invalid_scope'],
      )
    })

    it('keeps whom the grant says to act, and may name the actor', async () => {
      const data = { claims: { act: { sub: 'admin' } } }
      const of = (await issueGrant(site, app, alice, { data })).grant
      const actor = { actor_token: await mint(app), actor_token_type: accessType }
      const { body } = await exchange(app, await idTokenOf(app, { of }), { ...asId, ...actor })
      expect(claimsOf(body.access_token)['act']).toEqual({
        sub: app.id,
        client_id: 'app',
        act: { sub: 'admin' },
      })
      const byUser = { actor_token: await idTokenOf(app), actor_token_type: idType }
      const delegated = await exchange(app, await ofAlice(), byUser)
      expect(claimsOf(delegated.body.access_token)['act']).toEqual({
        sub: alice.id,
        client_id: 'app',
      })
    })

    it('refuses one of another client, an old one, one of a revoked grant, and what only looks like one', async () => {
      const issuer = await issuerOf(site)
      const document = await issuer.view.byId('client', app.id)
      if (!document) throw new Error('no client app')
      const client = clientOf(document)
      const sign = (claims: Claims) =>
        site.server.areas.tokens.mint.sign(issuer, client, 'JWT', {
          iss: site.issuer,
          aud: 'app',
          sub: alice.id,
          ...claims,
        })
      const exp = Math.floor(now / 1000) + 60
      const gone = (await issueGrant(site, app, alice)).grant
      const {
        storage,
        tokens: { grantsStore },
      } = site.server.areas
      await storage.commit(grantsStore.revoke(gone.id))
      for (const subject of [
        // An answer of userinfo, one of authorize.
        await sign({}),
        await sign({ exp, sub: undefined }),
        await sign({ exp: exp - 61, jti: `x.${grant.id}` }),
        await sign({ exp, jti: `x.${grant.id}`, aud: 'service' }),
        await idTokenOf(app, { of: gone }),
        await ofAlice(),
      ])
        expect(await refusal(app, subject, asId)).toEqual([400, 'invalid_request'])
      expect((await exchange(app, await sign({ exp, jti: `x.${grant.id}` }), asId)).status).toBe(
        200,
      )
      expect(await refusal(service, await idTokenOf(app), asId)).toEqual([400, 'invalid_request'])
      // And an id token is no access token.
      expect(await refusal(app, await idTokenOf(app))).toEqual([400, 'invalid_request'])
    })
  })

  it('shows the service nothing at userinfo that only the first client asked for', async () => {
    const data = { userinfoClaims: ['preferred_username'] }
    const asking = (await issueGrant(site, app, alice, { data })).grant
    const subject = await mint(app, { user: alice, scope: ['openid'], of: asking.id })
    const ask = async (token: string) =>
      (await site.get('/userinfo', { authorization: `Bearer ${token}` })).body
    expect(await ask(subject)).toMatchObject({ preferred_username: 'alice' })
    const { access_token } = (await exchange(service, subject)).body
    expect(await ask(access_token)).toEqual({ sub: alice.id })
  })

  it('stops with the grant, the client or the user behind the token', async () => {
    const isActive = async (token: string): Promise<boolean> => {
      const as = { client_id: service.clientId, client_secret: service.secret }
      return (await site.post('/introspect', { token, ...as })).body.active
    }
    const other = (await issueGrant(site, app, alice)).grant
    const subject = await mint(app, { user: alice, scope: ['openid'], of: other.id })
    const { access_token } = (await exchange(service, subject)).body
    expect(await isActive(access_token)).toBe(true)
    const {
      storage,
      tokens: { grantsStore },
    } = site.server.areas
    await storage.commit(grantsStore.revoke(other.id))
    expect(await isActive(access_token)).toBe(false)
    expect(await refusal(service, subject)).toEqual([400, 'invalid_request'])

    const ofUser = await ofAlice()
    const user = (await site.admin('GET', `/users/${alice.id}`)).body
    await site.admin('PUT', `/users/${alice.id}`, { ...user, enabled: false })
    expect(await refusal(service, ofUser)).toEqual([400, 'invalid_request'])
    const bob = await addUser(site, { username: 'bob' })
    const ofBob = (await issueGrant(site, app, bob)).grant
    const bobs = await mint(app, { user: bob, scope: ['openid'], of: ofBob.id })
    expect((await exchange(service, bobs)).status).toBe(200)
    const doc = (await site.admin('GET', `/clients/${app.id}`)).body
    await site.admin('PUT', `/clients/${app.id}`, { ...doc, enabled: false })
    expect(await refusal(service, bobs)).toEqual([400, 'invalid_request'])
  })
})
