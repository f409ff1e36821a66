/** The realm as authorization server of a resource: what an ID-JAG of a trusted provider gives, and what it ends with. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { claimsOf, type Reply } from '../fixture.ts'
import { api, bearerGrant, type CrossSite, openCrossSite, refusalIn } from './fixture.ts'

describe.each(backends)('ID-JAGs at a realm on $name', (backend) => {
  let world: CrossSite
  beforeAll(async () => {
    world = await openCrossSite(backend)
  })
  afterAll(() => world.close())

  const isActive = async (token: string): Promise<boolean> => {
    const { clientId, secret } = world.wikiAtChat
    const response = await fetch(`${world.chat}/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: clientId, client_secret: secret }),
    })
    return ((await response.json()) as { active: boolean }).active
  }
  const changeClient = async (fields: object): Promise<void> => {
    const path = `/clients/${world.wikiAtChat.id}`
    const { body } = await world.atChat('GET', path)
    await world.atChat('PUT', path, { ...body, ...fields })
  }
  const changeProvider = async (alias: string, fields: object): Promise<void> => {
    const path = `/identity-providers/${alias}`
    const { body } = await world.atChat('GET', path)
    await world.atChat('PUT', path, { ...body, ...fields })
  }
  const scopeIn = ({ body }: Reply): string => body.scope

  it('gives the client a token for the linked user, of one realm for another, without a refresh token', async () => {
    const { status, headers, body } = await world.redeem(await world.jag())
    expect(status, JSON.stringify(body)).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'chat.history chat.read',
    })
    const claims = claimsOf(body.access_token)
    expect(claims).toMatchObject({
      iss: world.chat,
      sub: world.aliceAtChat,
      client_id: 'wiki-at-chat',
      aud: api,
      scope: 'chat.history chat.read',
    })
    // When and how she signed in there says nothing about a sign-in here.
    for (const name of ['auth_time', 'acr', 'amr', 'sid']) expect(claims).not.toHaveProperty(name)
    expect(await isActive(body.access_token)).toBe(true)
  })

  it('names the actors of the ID-JAG with their issuer, and tells that no human acts (RFC 8693 §4.1)', async () => {
    const iss = world.partner.issuer
    const act = {
      sub: 'bot-at-partner',
      client_id: 'bot',
      exp: 5,
      act: { iss: 'https://third.example', sub: 'admin' },
    }
    const { status, body } = await world.redeem(await world.partnerJag({ act, nhi: true }))
    expect(status, JSON.stringify(body)).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: world.aliceAtChat, nhi: true })
    expect(claimsOf(body.access_token)['act']).toEqual({
      iss,
      sub: 'bot-at-partner',
      client_id: 'bot',
      act: { iss: 'https://third.example', sub: 'admin' },
    })
    // An actor of the provider is no client of this realm, nor one of its administrators.
    expect(await isActive(body.access_token)).toBe(true)
    const plain = claimsOf((await world.redeem(await world.partnerJag())).body.access_token)
    for (const name of ['act', 'nhi', 'may_act']) expect(plain).not.toHaveProperty(name)
  })

  it('is refused with actors of another form, with too many, and where it names another that may act', async () => {
    const chain = (length: number): object =>
      length === 1 ? { sub: 'x' } : { sub: 'x', act: chain(length - 1) }
    for (const claims of [
      { act: 'bot' },
      { act: [] },
      { act: {} },
      { act: { client_id: 'bot' } },
      { act: { sub: 'x', act: 'y' } },
      { act: chain(6) },
      { may_act: { client_id: 'another' } },
      { may_act: { client_id: 'wiki-at-chat', iss: world.partner.issuer } },
      { may_act: {} },
      { may_act: null },
    ])
      expect([claims, refusalIn(await world.redeem(await world.partnerJag(claims)))]).toEqual([
        claims,
        [400, 'invalid_grant'],
      ])
    const may_act = { client_id: 'wiki-at-chat' }
    const { body } = await world.redeem(await world.partnerJag({ may_act, act: chain(5) }))
    expect(claimsOf(body.access_token)).toMatchObject({ may_act })
  })

  it('records both identities and the provider, refusals with their reason, and counts', async () => {
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
    expect((await world.redeem(await world.partnerJag({ sub: 'nobody' }))).status).toBe(400)
    const { items } = (await world.atChat('GET', '/events?type=CROSS_APPLICATION_TOKEN')).body
    expect(items[0]).toMatchObject({
      outcome: 'FAILURE',
      actor: world.wikiAtChat.id,
      detail: expect.stringContaining('no user is linked to subject nobody'),
    })
    expect(items[1]).toMatchObject({
      outcome: 'SUCCESS',
      actor: world.wikiAtChat.id,
      onBehalfOf: world.aliceAtChat,
      detail: expect.stringMatching(/of partner, subject alice-at-partner$/),
    })
    const figures = JSON.stringify(await world.site.server.areas.metrics.figures())
    for (const outcome of ['success', 'refused'])
      expect(figures).toContain(`{"realm":"chat","role":"accept","outcome":"${outcome}"}`)
  })

  it('gives scopes that are in the ID-JAG and of the client, never more (RFC 6749 §3.3)', async () => {
    const scope = 'chat.read chat.write unknown offline_access'
    expect(scopeIn(await world.redeem(await world.partnerJag({ scope })))).toBe(
      'chat.read chat.write',
    )
    const fewer = await world.redeem(await world.partnerJag({ scope }), { scope: 'chat.write' })
    expect(scopeIn(fewer)).toBe('chat.write')
    for (const [granted, asked] of [
      ['chat.read', 'chat.write'],
      ['chat.read', 'chat.read chat.write'],
      ['chat.read', 'openid'],
      [undefined, 'chat.read'],
    ])
      expect(
        refusalIn(
          await world.redeem(await world.partnerJag({ scope: granted }), { scope: asked ?? '' }),
        ),
      ).toEqual([400, 'invalid_scope'])
    expect(refusalIn(await world.redeem(await world.partnerJag({ scope: 'unknown' })))).toEqual([
      400,
      'invalid_scope',
    ])
    await world.atChat('POST', '/client-scopes', { name: 'chat.pay', highRisk: true })
    await changeClient({ scopes: ['chat.read', 'chat.history', 'chat.write', 'chat.pay'] })
    const risky = { scope: 'chat.read chat.pay' }
    expect(scopeIn(await world.redeem(await world.partnerJag(risky)))).toBe('chat.read')
    expect(
      refusalIn(await world.redeem(await world.partnerJag(risky), { scope: 'chat.pay' })),
    ).toEqual([400, 'invalid_scope'])
    expect(
      (await world.redeem(await world.partnerJag({ scope: undefined }))).body,
    ).not.toHaveProperty('scope')
  })

  it('is for resources that are in the ID-JAG and of the client (RFC 8707)', async () => {
    const audOf = async (claims: object, more = {}) =>
      claimsOf((await world.redeem(await world.partnerJag({ ...claims }), more)).body.access_token)[
        'aud'
      ]
    expect(await audOf({ resource: api })).toBe(api)
    expect(await audOf({ resource: ['https://other.example', api] })).toBe(api)
    expect(await audOf({}, { resource: api })).toBe(api)
    expect(await audOf({})).toBe('wiki-at-chat')
    const refused = async (claims: object, more = {}) =>
      refusalIn(await world.redeem(await world.partnerJag({ ...claims }), more))
    expect(await refused({ resource: 'https://other.example' })).toEqual([400, 'invalid_target'])
    expect(await refused({}, { resource: 'https://other.example' })).toEqual([
      400,
      'invalid_target',
    ])
    expect(await refused({ resource: 5 })).toEqual([400, 'invalid_grant'])
  })

  it('ends with the user, the client, and a revoked consent of the user', async () => {
    const redeemed = async () => (await world.redeem(await world.partnerJag())).body.access_token
    const ofUser = await redeemed()
    const path = `/users/${world.aliceAtChat}`
    await world.atChat('PUT', path, { username: 'alice', enabled: false })
    expect(await isActive(ofUser)).toBe(false)
    expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([400, 'invalid_grant'])
    await world.atChat('PUT', path, { username: 'alice', enabled: true })
    const ofGrant = await redeemed()
    const { storage, tokens } = world.site.server.areas
    await storage.commit(tokens.grantsStore.revokeOfUser(world.aliceAtChat, world.wikiAtChat.id))
    expect(await isActive(ofGrant)).toBe(false)
    await changeClient({ consentRequired: true })
    expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([400, 'invalid_grant'])
    const { oidc } = world.site.server.areas
    await storage.commit(
      await oidc.consents.grant('chat', world.aliceAtChat, world.wikiAtChat.id, ['chat.read']),
    )
    const scope = 'chat.read chat.write'
    expect(scopeIn(await world.redeem(await world.partnerJag({ scope })))).toBe('chat.read')
    await changeClient({ consentRequired: false })
  })

  it('admits no administrator, and nobody with an action that is required first', async () => {
    const { body: role } = await world.atChat('POST', '/roles', { name: 'readers' })
    const { body } = await world.atChat('GET', '/roles/readers')
    await world.atChat('PUT', `/admin-roles/${body.roleId ?? role.roleId}`, {
      permissions: ['view-users'],
    })
    const roles = `/users/${world.aliceAtChat}/roles`
    await world.atChat('POST', roles, { name: 'readers' })
    expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([400, 'invalid_grant'])
    await world.atChat('DELETE', `${roles}/readers`)
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
    const path = `/users/${world.aliceAtChat}`
    await world.atChat('PUT', path, { username: 'alice', requiredActions: ['UPDATE_PASSWORD'] })
    expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([400, 'invalid_grant'])
    await world.atChat('PUT', path, { username: 'alice', requiredActions: [] })
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
  })

  it('takes an ID-JAG of a provider that is enabled and marked, with its keys as they are now', async () => {
    for (const fields of [{ enabled: false }, { crossApplicationAccess: false }]) {
      await changeProvider('partner', fields)
      expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([
        400,
        'invalid_grant',
      ])
      await changeProvider('partner', { enabled: true, crossApplicationAccess: true })
    }
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
    await world.partner.rotate()
    world.clock.pass(11_000)
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
  })

  it('answers 503 while the keys of the provider cannot be read', async () => {
    world.partner.lies = { answer: (_path, response) => Boolean(response.destroy()) }
    // Longer than keys are used while their address fails.
    world.clock.pass(25 * 60 * 60_000)
    expect(refusalIn(await world.redeem(await world.partnerJag()))).toEqual([
      503,
      'temporarily_unavailable',
    ])
    world.partner.lies = {}
    world.clock.pass(11_000)
    expect((await world.redeem(await world.partnerJag())).status).toBe(200)
  })

  it('is in the metadata where a provider is marked; elsewhere the grant type is unsupported', async () => {
    const { server } = world.site
    const metadataOf = async (issuer: string) =>
      (await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json()) as Record<
        string,
        unknown
      >
    const metadata = await metadataOf(world.chat)
    expect(metadata['grant_types_supported']).toContain(bearerGrant)
    expect(metadata['authorization_grant_profiles_supported']).toEqual([
      'urn:ietf:params:oauth:grant-profile:id-jag',
    ])
    const acme = await metadataOf(world.site.issuer)
    expect(acme['grant_types_supported']).not.toContain(bearerGrant)
    expect(acme).not.toHaveProperty('authorization_grant_profiles_supported')
    const client = await world.site.client({ clientId: 'off', grantTypes: ['jwt-bearer'] })
    const response = await fetch(`${server.baseUrl}/realms/acme/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: bearerGrant,
        assertion: await world.partnerJag(),
        client_id: client.clientId,
        client_secret: client.secret,
      }),
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'unsupported_grant_type', error_description: expect.stringContaining('offer') },
    ])
  })
})
