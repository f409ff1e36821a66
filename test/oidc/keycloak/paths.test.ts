/** Keycloak's paths and claims: nothing of them without `keycloakPaths`, and with it the same endpoints at both paths. */

import { createHash, createPublicKey } from 'node:crypto'
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { put } from '../../realm/changesets/changeset.ts'
import { addProvider, askUrl, authnRequest, redirectUrl, verifiedOf } from '../../saml/fixture.ts'
import { backends } from '../../support/backends.ts'
import { basic, claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../relying-party.ts'

const below = '/protocol/openid-connect'

/** Every path of Keycloak that is served, with a method that it takes. */
const aliases = [
  ['GET', `${below}/auth`],
  ['POST', `${below}/auth`],
  ['POST', `${below}/token`],
  ['OPTIONS', `${below}/token`],
  ['GET', `${below}/userinfo`],
  ['POST', `${below}/userinfo`],
  ['GET', `${below}/certs`],
  ['HEAD', `${below}/certs`],
  ['GET', `${below}/logout`],
  ['POST', `${below}/logout`],
  ['POST', `${below}/token/introspect`],
  ['POST', `${below}/revoke`],
  ['POST', `${below}/auth/device`],
  ['POST', `${below}/ext/par/request`],
  ['POST', `${below}/ext/ciba/auth`],
  ['GET', `${below}/3p-cookies/step1.html`],
  ['GET', ''],
  ['HEAD', ''],
  ['GET', '/protocol/saml'],
  ['POST', '/protocol/saml'],
  ['GET', '/protocol/saml/descriptor'],
] as const

describe.each(backends)("Keycloak's paths on $name", (backend) => {
  let site: OidcSite
  let app: TestClient
  let aliceId: string

  const ask = (method: string, path: string) =>
    fetch(`${site.issuer}${path}`, {
      method,
      redirect: 'manual',
      ...(method === 'POST' ? { body: new URLSearchParams({ a: 'b' }) } : {}),
    })
  const turn = (on: boolean) => change(site, '/settings', { keycloakPaths: on })
  const tokensOf = async (client = app) => {
    const page = await newPerson(site).signIn(authorizeUrl(site, client))
    return (await exchange(site, client, codeOf(page))).body
  }

  beforeAll(async () => {
    site = await openIssuer(backend)
    app = await site.client({
      clientId: 'app',
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      serviceAccountsEnabled: true,
      redirectUris: [redirectUri],
      scopes: ['profile'],
    })
    await addProvider(site)
    await site.admin('POST', `/clients/${app.id}/roles`, { name: 'editor' })
    const { body: revisions } = await site.admin('GET', '/revisions')
    await site.admin('POST', '/changesets', {
      source: 'test',
      baseRevision: revisions[0].revision,
      operations: [put('role', 'reader', { name: 'reader', clientRoles: ['app/editor'] })],
    })
    aliceId = await addPerson(site, 'alice')
    await site.admin('POST', `/users/${aliceId}/roles`, { name: 'reader' })
  })
  afterAll(() => site.close())

  describe('without the switch', () => {
    it.each(aliases)('are not there: %s %s', async (method, path) => {
      const [known, unknown] = [await ask(method, path), await ask(method, `${path}/nothing`)]
      expect(known.status).toBe(404)
      expect(known.headers.get('content-type')).toBe(unknown.headers.get('content-type'))
    })

    it('are not told by a method that they do not take', async () => {
      expect((await ask('GET', `${below}/token`)).status).toBe(404)
      expect((await ask('DELETE', '/protocol/saml')).status).toBe(404)
    })

    it('leave tokens without the claims of adapters, and refresh tokens opaque', async () => {
      const tokens = await tokensOf()
      expect(claimsOf(tokens.access_token)).not.toHaveProperty('typ')
      expect(claimsOf(tokens.access_token)).not.toHaveProperty('preferred_username')
      expect(claimsOf(tokens.id_token)).not.toHaveProperty('typ')
      expect(tokens.refresh_token).not.toContain('.')
      expect(tokens).not.toHaveProperty('refresh_expires_in')
    })

    it('are in no discovery document, which is the same with the switch', async () => {
      const documents = () =>
        Promise.all(
          ['openid-configuration', 'oauth-authorization-server', 'uma2-configuration'].map(
            async (name) => (await site.get(`/.well-known/${name}`)).body,
          ),
        )
      const before = await documents()
      await turn(true)
      expect(await documents()).toEqual(before)
      await turn(false)
      expect(JSON.stringify(before)).not.toContain('/protocol/')
    })
  })

  describe('with the switch', () => {
    beforeAll(() => turn(true))

    it.each(aliases)('are there: %s %s', async (method, path) => {
      expect((await ask(method, path)).status).not.toBe(404)
    })

    it('stay away in a realm that does not have it', async () => {
      await site.server.createRealm('other')
      const other = site.issuer.replace(/acme$/, 'other')
      expect((await fetch(`${other}${below}/certs`)).status).toBe(404)
      expect((await fetch(`${site.issuer}nothing${below}/certs`)).status).toBe(404)
    })

    it('tell keycloak-js in a frame of any page that cookies do not reach frames', async () => {
      const page = await ask('GET', `${below}/3p-cookies/step1.html`)
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      const policy = page.headers.get('content-security-policy') ?? ''
      expect(policy).not.toContain('frame-ancestors')
      expect(page.headers.get('x-frame-options')).toBeNull()
      const [, script = ''] = /<script>(.*)<\/script>/.exec(await page.text()) ?? []
      expect(script).toBe("parent.postMessage('unsupported', '*')")
      const hash = createHash('sha256').update(script).digest('base64')
      expect(policy).toBe(`default-src 'none'; script-src 'sha256-${hash}'`)
    })

    it('let the pages of a client, and no others, read tokens that they ask for with cookies, as keycloak-js does', async () => {
      const pages = { clientId: 'pages', publicClient: true, redirectUris: [redirectUri] }
      const webOrigins = ['https://app.example']
      await site.client({ ...pages, grantTypes: ['authorization_code'], webOrigins })
      const fields = { grant_type: 'authorization_code', client_id: 'pages', code: 'x' }
      const allowed = async (path: string, origin: string) => {
        const { headers } = await site.post(path, { ...fields, token: 'x' }, { origin })
        return ['origin', 'credentials'].map((of) => headers.get(`access-control-allow-${of}`))
      }
      for (const path of ['/token', `${below}/token`]) {
        expect(await allowed(path, 'https://app.example')).toEqual(['https://app.example', 'true'])
        expect(await allowed(path, 'https://evil.example')).toEqual([null, null])
      }
      expect(await allowed('/revoke', 'https://app.example')).toEqual(['https://app.example', null])
      await turn(false)
      expect(await allowed('/token', 'https://app.example')).toEqual(['https://app.example', null])
      await turn(true)
    })

    it('tell the key that verifies tokens, as python-keycloak reads it, and the page to browsers', async () => {
      const { body, headers } = await site.get('')
      expect(body).toEqual({
        realm: 'acme',
        public_key: expect.any(String),
        'token-service': `${site.issuer}/protocol/openid-connect`,
        'account-service': `${site.issuer}/account`,
      })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      const pem = `-----BEGIN PUBLIC KEY-----\n${body.public_key}\n-----END PUBLIC KEY-----`
      const { access_token: token } = await tokensOf()
      const { payload } = await jwtVerify(token, createPublicKey(pem))
      expect(payload.iss).toBe(site.issuer)
      const page = await site.get('', { accept: 'text/html,*/*;q=0.8' })
      expect(page.headers.get('content-type')).toContain('text/html')
    })

    it('carry a whole sign-in: auth, token, userinfo, certs, introspection, refresh, revocation', async () => {
      const query = new URL(authorizeUrl(site, app)).search
      const page = await newPerson(site).signIn(`${site.issuer}${below}/auth${query}`)
      const secret = basic('app', app.secret)
      const { body: tokens } = await site.post(
        `${below}/token`,
        { grant_type: 'authorization_code', code: codeOf(page), redirect_uri: redirectUri },
        secret,
      )
      const keys = createRemoteJWKSet(new URL(`${site.issuer}${below}/certs`))
      const { payload } = await jwtVerify(tokens.access_token, keys, { issuer: site.issuer })
      expect(payload).toMatchObject({
        typ: 'Bearer',
        azp: 'app',
        sub: aliceId,
        preferred_username: 'alice',
        realm_access: { roles: expect.arrayContaining(['reader']) },
        resource_access: { app: { roles: ['editor'] } },
        sid: expect.any(String),
      })
      expect(claimsOf(tokens.id_token)).toMatchObject({ typ: 'ID', preferred_username: 'alice' })
      const bearer = { authorization: `Bearer ${tokens.access_token}` }
      expect((await site.get(`${below}/userinfo`, bearer)).body.sub).toBe(aliceId)

      const introspect = async (token: string) =>
        (await site.post(`${below}/token/introspect`, { token }, secret)).body.active
      expect(await introspect(tokens.access_token)).toBe(true)
      expect(await introspect(tokens.refresh_token)).toBe(true)
      expect(claimsOf(tokens.refresh_token)).toMatchObject({ typ: 'Refresh', iss: site.issuer })
      const { exp, iat } = claimsOf(tokens.refresh_token) as { exp: number; iat: number }
      expect(tokens.refresh_expires_in).toBe(exp - iat)

      const refresh = (token: string) =>
        site.post(`${below}/token`, { grant_type: 'refresh_token', refresh_token: token }, secret)
      const next = (await refresh(tokens.refresh_token)).body
      expect(claimsOf(next.access_token)['typ']).toBe('Bearer')
      await site.post(`${below}/revoke`, { token: next.refresh_token }, secret)
      expect(await introspect(next.access_token)).toBe(false)
    })

    it('detect reuse of a refresh token in any spelling, and trust nothing beside it (RFC 9700 §4.14.2)', async () => {
      const { refresh_token: issued } = await tokensOf()
      const [, , bare] = issued.split('.')
      const forged = Buffer.from(JSON.stringify({ exp: 9e9, sub: 'eve' })).toString('base64url')
      const secret = basic('app', app.secret)
      const refresh = (token: string) =>
        site.post('/token', { grant_type: 'refresh_token', refresh_token: token }, secret)
      expect((await refresh(`x.y.${bare}x`)).body.error).toBe('invalid_grant')
      expect((await refresh(`${issued}.`)).body.error).toBe('invalid_grant')
      const next = await refresh(`${forged}.${forged}.${bare}`)
      expect(next.status).toBe(200)
      expect(claimsOf(next.body.access_token)['sub']).toBe(aliceId)
      expect((await refresh(issued)).body.error).toBe('invalid_grant')
      expect((await refresh(next.body.refresh_token)).body.error).toBe('invalid_grant')
    })

    it('accept no refresh token as another token: its claims are not signed', async () => {
      const { refresh_token } = await tokensOf()
      const bearer = { authorization: `Bearer ${refresh_token}` }
      expect((await site.get('/userinfo', bearer)).status).toBe(401)
    })

    it('give a service account the name that Keycloak gives it', async () => {
      expect(claimsOf(await site.token(app))).toMatchObject({
        typ: 'Bearer',
        preferred_username: 'service-account-app',
      })
    })

    it('keep the username from clients that may not have profile, or whose users are asked', async () => {
      const common = { grantTypes: ['authorization_code' as const], redirectUris: [redirectUri] }
      const lean = await site.client({ clientId: 'lean', ...common })
      const asked = await site.client({
        clientId: 'asked',
        ...common,
        scopes: ['profile'],
        consentRequired: true,
      })
      expect(claimsOf((await tokensOf(lean)).access_token)).not.toHaveProperty('preferred_username')
      const person = newPerson(site)
      const consent = await person.signIn(authorizeUrl(site, asked))
      const page = await person.submit(consent, { decision: 'allow' })
      const { body } = await exchange(site, asked, codeOf(page))
      expect(claimsOf(body.access_token)).toMatchObject({ typ: 'Bearer' })
      expect(claimsOf(body.access_token)).not.toHaveProperty('preferred_username')
    })

    it('are the audience of client assertions, each its own, and that of tokens everywhere', async () => {
      const { publicKey, privateKey } = await generateKeyPair('ES256')
      await site.client({
        clientId: 'signer',
        grantTypes: ['client_credentials'],
        serviceAccountsEnabled: true,
        tokenEndpointAuthMethod: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'a', use: 'sig' }] },
      })
      const assertionFor = (audience: string) =>
        new SignJWT({ jti: newId() })
          .setProtectedHeader({ alg: 'ES256', kid: 'a' })
          .setIssuer('signer')
          .setSubject('signer')
          .setAudience(audience)
          .setIssuedAt()
          .setExpirationTime('1m')
          .sign(privateKey)
      const send = async (path: string, audience: string) =>
        (
          await site.post(path, {
            grant_type: 'client_credentials',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: await assertionFor(audience),
          })
        ).status
      const alias = `${site.issuer}${below}/token`
      expect(await send(`${below}/token`, alias)).toBe(200)
      expect(await send(`${below}/token`, site.issuer)).toBe(200)
      expect(await send(`${below}/token`, 'https://elsewhere.example')).toBe(401)
      const ciba = `${below}/ext/ciba/auth`
      const audiences = [alias, `${site.issuer}${ciba}`, `${site.issuer}/token`, site.issuer]
      for (const audience of audiences) expect(await send(ciba, audience), audience).not.toBe(401)
      expect(await send(ciba, `${site.issuer}${below}/revoke`)).toBe(401)
    })

    it('take AuthnRequests whose Destination is the path, and answer metadata', async () => {
      const Destination = `${site.issuer}/protocol/saml`
      const request = authnRequest(site, { attributes: { Destination } })
      const page = await newPerson(site).signIn(
        redirectUrl(site, request, { path: '/protocol/saml' }),
      )
      expect((await verifiedOf(site, page)).response.attributes['Destination']).toBeDefined()
      const elsewhere = { attributes: { Destination: 'https://elsewhere.example/protocol/saml' } }
      const refused = await newPerson(site).open(
        askUrl(site, elsewhere, { path: '/protocol/saml' }),
      )
      expect(refused.status).toBe(400)
      const [ours, theirs] = await Promise.all(
        ['/saml/idp/metadata', '/protocol/saml/descriptor'].map((path) => site.get(path)),
      )
      expect(theirs?.body).toBe(ours?.body)
    })

    it('end with the switch: a Destination too', async () => {
      await turn(false)
      const Destination = `${site.issuer}/protocol/saml`
      const refused = await newPerson(site).open(askUrl(site, { attributes: { Destination } }))
      expect(refused.status).toBe(400)
      await turn(true)
    })
  })
})
