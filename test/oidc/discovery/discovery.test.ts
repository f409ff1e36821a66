/** The discovery documents of a realm, as third-party relying parties read them. */

import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { change } from '../relying-party.ts'

describe.each(backends)('the metadata of a realm on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({ clientId: 'service', grantTypes: ['client_credentials'] })
  })
  afterAll(() => site.close())

  const places = [
    '/realms/acme/.well-known/openid-configuration',
    '/.well-known/openid-configuration/realms/acme',
    '/realms/acme/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/realms/acme',
  ]

  it('is the same at all four places that OIDC Discovery §4 and RFC 8414 §3.1 name', async () => {
    const bodies = await Promise.all(
      places.map(async (path) => (await fetch(`${site.server.baseUrl}${path}`)).text()),
    )
    expect(new Set(bodies).size).toBe(1)
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
      issuer: site.issuer,
      token_endpoint: `${site.issuer}/token`,
      jwks_uri: `${site.issuer}/.well-known/jwks.json`,
      introspection_endpoint: `${site.issuer}/introspect`,
      revocation_endpoint: `${site.issuer}/revoke`,
    })
  })

  it('lists what there is: grants, ways of authentication, scopes of the realm', async () => {
    await site.admin('POST', '/client-scopes', { name: 'orders:read' })
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body.grant_types_supported).toContain('client_credentials')
    expect(body.token_endpoint_auth_methods_supported).toEqual(
      expect.arrayContaining(['client_secret_basic', 'client_secret_post', 'none']),
    )
    expect(body.introspection_endpoint_auth_methods_supported).not.toContain('none')
    expect(body.scopes_supported).toEqual(
      expect.arrayContaining(['openid', 'profile', 'email', 'orders:read']),
    )
    expect(body.code_challenge_methods_supported).toEqual(['S256'])
    for (const member of ['id_token', 'authorization', 'userinfo'])
      expect(body[`${member}_signing_alg_values_supported`]).toEqual(['RS256', 'PS256'])
  })

  it('offers what needs secrets that can be read only where the realm keeps them so', async () => {
    const offered = async (): Promise<boolean[]> => {
      const { body } = await site.get('/.well-known/openid-configuration')
      return ['token', 'introspection', 'revocation'].flatMap((endpoint) => [
        body[`${endpoint}_endpoint_auth_methods_supported`].includes('client_secret_jwt'),
        body[`${endpoint}_endpoint_auth_signing_alg_values_supported`].includes('HS256'),
      ])
    }
    expect(new Set(await offered())).toEqual(new Set([false]))
    await site.admin('PUT', '/settings', { clientSecretStorage: 'revealable' })
    expect(new Set(await offered())).toEqual(new Set([true]))
    await site.admin('PUT', '/settings', { clientSecretStorage: 'hashed' })
    expect(new Set(await offered())).toEqual(new Set([false]))
  })

  it('names the languages that the realm offers', async () => {
    const locales = async (): Promise<string[]> =>
      (await site.get('/.well-known/openid-configuration')).body.ui_locales_supported
    const all = await locales()
    expect(all).toContain('en')
    await change(site, '/settings', { supportedLocales: ['en', 'xx'], defaultLocale: 'en' })
    expect(await locales()).toEqual(['en'])
    await change(site, '/settings', { supportedLocales: [] })
    expect(await locales()).toEqual(all)
  })

  it('may be read by every page, without credentials, and is not sent again', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/jwks.json']) {
      const first = await site.get(path, { origin: 'https://anywhere.example' })
      expect(first.headers.get('access-control-allow-origin')).toBe('*')
      expect(first.headers.get('access-control-allow-credentials')).toBeNull()
      expect(first.headers.get('cache-control')).toMatch(/^public, max-age=\d+$/)
      const etag = first.headers.get('etag') ?? ''
      // A list, compared weakly, or anything at all (RFC 9110 §13.1.2).
      for (const known of [etag, `W/${etag}`, `"a,b", ${etag}`, `"x",W/${etag} , "y"`, '*']) {
        const again = await site.get(path, { 'if-none-match': known })
        expect([again.status, again.body], known).toEqual([304, ''])
      }
      for (const other of ['"x"', etag.slice(1, -1), `"*"`, `"x${etag.slice(1)}`])
        expect((await site.get(path, { 'if-none-match': other })).status, other).toBe(200)
    }
  })

  it('is found by openid-client, which then gets a token', async () => {
    const config = await openid.discovery(
      new URL(site.issuer),
      client.clientId,
      undefined,
      openid.ClientSecretBasic(client.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const tokens = await openid.clientCredentialsGrant(config)
    expect(tokens.token_type).toBe('bearer')
    expect(tokens.expires_in).toBe(300)
  })

  it('is found by oauth4webapi with both algorithms, and the token is one of RFC 9068', async () => {
    const url = new URL(site.issuer)
    const insecure = { [oauth.allowInsecureRequests]: true }
    for (const algorithm of ['oidc', 'oauth2'] as const) {
      const response = await oauth.discoveryRequest(url, { algorithm, ...insecure })
      const server = await oauth.processDiscoveryResponse(url, response)
      const answer = await oauth.clientCredentialsGrantRequest(
        server,
        { client_id: client.clientId },
        oauth.ClientSecretPost(client.secret),
        {},
        insecure,
      )
      const { access_token } = await oauth.processClientCredentialsResponse(
        server,
        { client_id: client.clientId },
        answer,
      )
      const request = new Request('http://resource.example/', {
        headers: { authorization: `Bearer ${access_token}` },
      })
      const claims = await oauth.validateJwtAccessToken(server, request, site.issuer, insecure)
      expect(claims.client_id).toBe(client.clientId)
      expect(claims.sub).toBe(client.id)
    }
  })

  it('tells nothing apart of realms that do not exist and realms that are switched off', async () => {
    await site.server.createRealm('closed')
    const settings = await site.server.admin.send('GET', '/admin/realms/closed/settings')
    await site.server.admin.send('PUT', '/admin/realms/closed/settings', {
      ...settings.body,
      enabled: false,
    })
    for (const path of ['.well-known/openid-configuration', '.well-known/jwks.json']) {
      const answers = await Promise.all(
        ['closed', 'nowhere'].map((realm) =>
          fetch(`${site.server.baseUrl}/realms/${realm}/${path}`),
        ),
      )
      const told = await Promise.all(answers.map(async (one) => [one.status, await one.text()]))
      expect(told[0]).toEqual(told[1])
      expect(told[0]?.[0]).toBe(404)
    }
  })
})

describe.each(backends)('keys of a realm on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({ clientId: 'service', grantTypes: ['client_credentials'] })
  })
  afterAll(() => site.close())

  it('sign at once after a rotation, and a token from before stays good', async () => {
    const before = await site.token(client)
    const { body: key } = await site.admin('POST', '/keys/rotate')
    const after = await site.token(client)
    const kidOf = (token: string): string =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
    expect(kidOf(after)).toBe(key.keyId)
    expect(kidOf(before)).not.toBe(key.keyId)
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    for (const token of [before, after]) await jwtVerify(token, keys)
  })

  it('sign with PS256 where the client asks for it, from the same published key', async () => {
    const modern = await site.client({
      clientId: 'modern',
      grantTypes: ['client_credentials'],
      idTokenSignedResponseAlg: 'PS256',
    })
    const token = await site.token(modern)
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    const { protectedHeader } = await jwtVerify(token, keys, { algorithms: ['PS256'] })
    expect(protectedHeader).toMatchObject({ alg: 'PS256', typ: 'at+jwt' })
    expect(claimsOf(token)['client_id']).toBe('modern')
  })

  it('are published without their private half', async () => {
    const { body } = await site.get('/.well-known/jwks.json')
    for (const key of body.keys)
      expect(Object.keys(key).sort()).toEqual(['e', 'kid', 'kty', 'n', 'use', 'x5c'])
  })
})
