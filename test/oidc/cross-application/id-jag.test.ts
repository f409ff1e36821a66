/** The realm as identity provider of cross-application access: which ID-JAG a client gets, and for whom. */

import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { claimsOf, type TestClient } from '../fixture.ts'
import { change, redirectUri } from '../relying-party.ts'
import { issuerOf } from '../users.ts'
import {
  api,
  bearerGrant,
  type CrossSite,
  idType,
  jagType,
  openCrossSite,
  refreshType,
  refusalIn,
} from './fixture.ts'

describe.each(backends)('ID-JAGs of a realm on $name', (backend) => {
  let world: CrossSite
  beforeAll(async () => {
    world = await openCrossSite(backend)
  })
  afterAll(() => world.close())

  const byRefreshToken = { subject_token_type: refreshType }
  const metadata = async () =>
    (await world.site.get('/.well-known/openid-configuration')).body as Record<string, unknown>

  it('names the user as the other server knows them, the client there, and what is granted (§3)', async () => {
    const { site, chat } = world
    const { status, headers, body } = await world.ask((await world.signIn()).id_token, {
      scope: 'chat.read',
      resource: api,
    })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      issued_token_type: jagType,
      access_token: expect.any(String),
      token_type: 'N_A',
      expires_in: expect.any(Number),
      scope: 'chat.read',
    })
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    const verified = await jwtVerify(body.access_token, keys, {
      issuer: site.issuer,
      audience: chat,
      typ: 'oauth-id-jag+jwt',
    })
    expect(decodeProtectedHeader(body.access_token).typ).toBe('oauth-id-jag+jwt')
    const { iat = 0, exp = 0 } = verified.payload
    expect(exp - iat).toBe(body.expires_in)
    expect(exp - iat).toBeLessThanOrEqual(300)
    expect(verified.payload).toEqual({
      iss: site.issuer,
      sub: world.alice,
      aud: chat,
      client_id: 'wiki-at-chat',
      jti: expect.any(String),
      iat,
      exp,
      scope: 'chat.read',
      resource: api,
      auth_time: expect.any(Number),
      acr: expect.any(String),
      amr: expect.any(Array),
    })
  })

  it('has all scopes and resources of the policy where none are asked for, and no others', async () => {
    const { id_token } = await world.signIn()
    const { body } = await world.ask(id_token)
    expect(body.scope).toBe('chat.history chat.read')
    expect(claimsOf(body.access_token)).toMatchObject({ scope: body.scope, resource: api })
    for (const scope of ['chat.write', 'chat.read chat.write', 'openid'])
      expect(refusalIn(await world.ask(id_token, { scope }))).toEqual([400, 'invalid_scope'])
    expect(refusalIn(await world.ask(id_token, { resource: 'https://other.example' }))).toEqual([
      400,
      'invalid_target',
    ])
  })

  it('names the email address where the policy says so, and the subject of the relying party', async () => {
    const { site, wiki, chat } = world
    const { body } = await site.admin('GET', `/clients/${wiki.id}`)
    const [target] = body.crossApplicationAccess
    const before = body.crossApplicationAccess
    const rp = (await site.admin('GET', '/clients/chat')).body
    await site.admin('PUT', '/clients/chat', { ...rp, subjectClaim: 'pairwise' })
    await change(site, `/clients/${wiki.id}`, {
      crossApplicationAccess: [{ ...target, email: true }],
    })
    const told = claimsOf(await world.jag())
    const issuer = await issuerOf(site)
    const document = await issuer.view.get('client', 'chat')
    expect(document).toBeDefined()
    expect(told).toMatchObject({ email: 'alice@acme.example', email_verified: false, aud: chat })
    expect(told['sub']).not.toBe(world.alice)
    expect(claimsOf((await world.signIn()).id_token)['sub']).toBe(world.alice)
    await site.admin('PUT', '/clients/chat', rp)
    await change(site, `/clients/${wiki.id}`, { crossApplicationAccess: before })
  })

  it('is recorded with both identities, refusals too, and counted', async () => {
    const { site, wiki } = world
    await world.jag()
    await world.ask('nonsense')
    const { items } = (await site.admin('GET', '/events?type=CROSS_APPLICATION_GRANT')).body
    expect(items[0]).toMatchObject({ outcome: 'FAILURE', actor: wiki.id })
    expect(items[1]).toMatchObject({
      outcome: 'SUCCESS',
      actor: wiki.id,
      onBehalfOf: world.alice,
      detail: expect.stringContaining(world.chat),
    })
    const figures = JSON.stringify(await site.server.areas.metrics.figures())
    for (const outcome of ['success', 'refused'])
      expect(figures).toContain(`{"realm":"acme","role":"issue","outcome":"${outcome}"}`)
  })

  it('takes a refresh token of the client, and leaves it unspent', async () => {
    const { refresh_token } = await world.signIn()
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await world.ask(refresh_token, byRefreshToken)
      expect(status, JSON.stringify(body)).toBe(200)
      expect(claimsOf(body.access_token)).toMatchObject({ sub: world.alice, aud: world.chat })
    }
    const { wiki, site } = world
    const refresh = () =>
      site.post('/token', {
        grant_type: 'refresh_token',
        refresh_token,
        client_id: wiki.clientId,
        client_secret: wiki.secret,
      })
    expect((await refresh()).status).toBe(200)
    // It is spent now: to present it again ends its family, here as at a refresh.
    expect(refusalIn(await world.ask(refresh_token, byRefreshToken))).toEqual([
      400,
      'invalid_grant',
    ])
    expect((await site.events('REFRESH_TOKEN_REUSE'))[0]).toMatchObject({ outcome: 'FAILURE' })
  })

  it('refuses tokens of another client, other types, and what is missing', async () => {
    const { site, chat } = world
    const other = await site.client({
      clientId: 'other',
      grantTypes: ['authorization_code', 'refresh_token', 'token-exchange'],
      redirectUris: [redirectUri],
      crossApplicationAccess: [
        { audience: chat, clientId: 'other', scopes: [], resources: [], email: false },
      ],
    })
    const ofWiki = await world.signIn()
    const refused = async (
      more: Record<string, string>,
      subject = ofWiki.id_token,
      client?: TestClient,
    ) => refusalIn(await world.ask(subject, more, client))
    expect(await refused({}, ofWiki.id_token, other)).toEqual([400, 'invalid_grant'])
    expect(await refused(byRefreshToken, ofWiki.refresh_token, other)).toEqual([
      400,
      'invalid_grant',
    ])
    expect(await refused({}, ofWiki.access_token)).toEqual([400, 'invalid_grant'])
    expect(await refused({}, await world.jag())).toEqual([400, 'invalid_grant'])
    for (const more of [
      { subject_token: '' },
      { subject_token_type: '' },
      { subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
      { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
      ...Object.getOwnPropertyNames(Object.prototype).map((name) => ({ subject_token_type: name })),
      { audience: '' },
      { actor_token: ofWiki.id_token, actor_token_type: idType },
      { actor_token_type: idType },
    ])
      expect([more, await refused(more)]).toEqual([more, [400, 'invalid_request']])
    for (const audience of ['https://evil.example', `${chat}/`, site.issuer])
      expect(await refused({ audience })).toEqual([400, 'invalid_target'])
    const two = `grant_type=x&audience=${chat}&audience=https://evil.example`
    const form = new URLSearchParams(two)
    form.set('grant_type', 'urn:ietf:params:oauth:grant-type:token-exchange')
    for (const [name, value] of [
      ['requested_token_type', jagType],
      ['subject_token', ofWiki.id_token],
      ['subject_token_type', idType],
      ['client_id', 'wiki'],
      ['client_secret', world.wiki.secret],
    ])
      form.set(name as string, value as string)
    expect(refusalIn(await site.post('/token', form.toString()))).toEqual([400, 'invalid_request'])
  })

  it('is off for a client without a policy: invalid_request, and clients that may not exchange', async () => {
    const { site } = world
    const plain = await site.client({
      clientId: 'plain',
      grantTypes: ['authorization_code', 'token-exchange'],
      redirectUris: [redirectUri],
    })
    const { status, body } = await world.ask((await world.signIn(plain)).id_token, {}, plain)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.error_description).toContain('crossApplicationAccess')
  })

  it('is in the metadata of a realm where a client has a policy, and in no other', async () => {
    const member = 'identity_chaining_requested_token_types_supported'
    expect((await metadata())[member]).toEqual([jagType])
    await world.site.server.createRealm('quiet')
    const response = await fetch(
      `${world.site.server.baseUrl}/realms/quiet/.well-known/openid-configuration`,
    )
    const quiet = (await response.json()) as Record<string, unknown>
    expect(quiet).not.toHaveProperty(member)
    expect(quiet).not.toHaveProperty('authorization_grant_profiles_supported')
    expect(quiet['grant_types_supported']).not.toContain(bearerGrant)
  })

  it('ends with the session, the grant, the user and the client, as a refresh does', async () => {
    const { site, wiki, alice } = world
    const both = async ({
      id_token,
      refresh_token,
    }: {
      id_token: string
      refresh_token: string
    }) => [
      refusalIn(await world.ask(id_token)),
      refusalIn(await world.ask(refresh_token, byRefreshToken)),
    ]
    const good = [
      [200, undefined],
      [200, undefined],
    ]
    const bad = [
      [400, 'invalid_grant'],
      [400, 'invalid_grant'],
    ]
    const ofSession = await world.signIn()
    expect(await both(ofSession)).toEqual(good)
    await site.admin('DELETE', `/sessions/${claimsOf(ofSession.id_token)['sid']}`)
    expect(await both(ofSession)).toEqual(bad)

    const revoked = await world.signIn()
    const as = { client_id: wiki.clientId, client_secret: wiki.secret }
    await site.post('/revoke', { ...as, token: revoked.refresh_token })
    expect(await both(revoked)).toEqual(bad)

    const ofUser = await world.signIn()
    await change(site, `/users/${alice}`, { enabled: false })
    expect(await both(ofUser)).toEqual(bad)
    await change(site, `/users/${alice}`, { enabled: true })

    const late = await world.signIn()
    world.clock.pass(24 * 60 * 60_000)
    expect(await both(late)).toEqual(bad)

    const ofClient = await world.signIn()
    await change(site, `/clients/${wiki.id}`, { enabled: false })
    expect(await both(ofClient)).toEqual([
      [401, 'invalid_client'],
      [401, 'invalid_client'],
    ])
    await change(site, `/clients/${wiki.id}`, { enabled: true })
  })

  it('is not for an administrator who acts as the user', async () => {
    const { site, wiki } = world
    const { areas } = site.server
    const opened = areas.sessions.openStatements({
      realm: 'acme',
      userId: world.alice,
      ip: '127.0.0.1',
      userAgent: 'test',
      rememberMe: false,
      settings: (await issuerOf(site)).settings,
      impersonator: site.server.admin.userId,
    })
    await areas.storage.commit(opened.statements)
    const { grant, statements } = areas.tokens.grantsStore.create({
      realm: 'acme',
      clientId: wiki.id,
      userId: world.alice,
      sid: opened.session.sid,
      scope: ['openid'],
      data: { claims: { act: { sub: site.server.admin.userId } } },
      expiresAt: world.clock.now() + 3_600_000,
    })
    const made = areas.tokens.grantsStore.createRefreshToken(grant.id, 600)
    await areas.storage.commit([...statements, ...made.statements])
    expect(refusalIn(await world.ask(made.refreshToken, byRefreshToken))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('is for an agent that may act for users, while it is ACTIVE', async () => {
    const { site, chat } = world
    const bot = await site.client({
      clientId: 'bot',
      grantTypes: ['authorization_code', 'token-exchange'],
      redirectUris: [redirectUri],
      crossApplicationAccess: [
        { audience: chat, clientId: 'bot', scopes: [], resources: [], email: false },
      ],
    })
    const { id_token } = await world.signIn(bot)
    const agent = async (allowedDelegation: boolean) => {
      const { body } = await site.admin('POST', '/agents', {
        name: `bot-${allowedDelegation}`,
        clientId: 'bot',
        allowedDelegation,
      })
      await site.admin('POST', `/agents/${body.id}/activate`)
      return body.id as string
    }
    const kept = await agent(false)
    expect(refusalIn(await world.ask(id_token, {}, bot))).toEqual([400, 'unauthorized_client'])
    await site.admin('DELETE', `/agents/${kept}`)
    const id = await agent(true)
    await site.admin('POST', `/agents/${id}/suspend`)
    expect(refusalIn(await world.ask(id_token, {}, bot))).toEqual([400, 'unauthorized_client'])
  })
})
