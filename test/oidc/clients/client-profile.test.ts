/** The profile of a client switches its rules on; contradicting fields are refused. */

import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { answerOf, authorizeUrl, newPerson, redirectUri } from '../relying-party.ts'
import { addUser, issueGrant } from '../users.ts'

describe.each(anyBackend)('profiles of clients on $name', (backend) => {
  let site: OidcSite
  let jwks: { keys: Record<string, unknown>[] }
  let sign: (claims: JWTPayload) => Promise<string>

  beforeAll(async () => {
    site = await openIssuer(backend)
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    jwks = { keys: [{ ...(await exportJWK(publicKey)) }] }
    sign = (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  })
  afterAll(() => site.close())

  const fapi = (): Partial<ClientDoc> => ({
    profile: 'fapi-2-security',
    tokenEndpointAuthMethod: 'private_key_jwt',
    jwks,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
  })

  it.each<[string, string, Partial<ClientDoc>]>([
    ['fapi-2-security', '/publicClient', { publicClient: true }],
    [
      'fapi-2-security',
      '/tokenEndpointAuthMethod',
      { tokenEndpointAuthMethod: 'client_secret_basic' },
    ],
    ['fapi-2-security', '/refreshTokenRotation', { refreshTokenRotation: 'always' }],
    ['fapi-2-security', '/userinfoSignedResponseAlg', { userinfoSignedResponseAlg: 'RS256' }],
    [
      'fapi-2-message-signing',
      '/authorizationSignedResponseAlg',
      { authorizationSignedResponseAlg: 'RS256' },
    ],
    ['fapi-2-security', '/tokenEndpointAuthSigningAlg', { tokenEndpointAuthSigningAlg: 'RS256' }],
    ['fapi-2-message-signing', '/requestObjectSigningAlg', { requestObjectSigningAlg: 'RS256' }],
    ['fapi-2-security', '/grantTypes', { grantTypes: ['password'] }],
    ['fapi-2-message-signing', '/redirectUris', { redirectUris: ['http://app.example/cb'] }],
    ['mcp', '/grantTypes', { grantTypes: ['password'] }],
    ['mcp', '/redirectUris', { redirectUris: ['http://app.example/cb'] }],
  ])('%s refuses what contradicts it at %s, with the section', async (profile, field, more) => {
    const { send } = await site.server.signedIn('master', 'admin')
    const doc = { clientId: 'odd', ...fapi(), profile, ...more }
    const { status, body } = await send('POST', '/admin/realms/acme/clients', doc)
    expect(status).toBe(400)
    expect(body.errors).toContainEqual({
      field,
      code: 'profile',
      message: expect.stringMatching(new RegExp(`§.*as the profile ${profile} says$`)),
    })
  })

  it('switch on PAR, PKCE, bound tokens and PS256, which the client does not have to say', async () => {
    await site.client({ clientId: 'bank', ...fapi() })
    const answer = answerOf(await newPerson(site).open(authorizeUrl(site, { clientId: 'bank' })))
    expect(answer['error']).toBe('invalid_request')
    expect(answer['error_description']).toMatch(/push/)
    const assertion = (aud: string) => {
      const seconds = Math.floor(Date.now() / 1000)
      return sign({ iss: 'bank', sub: 'bank', aud, jti: newId(), exp: seconds + 60 })
    }
    const push = async (aud: string) =>
      site.post('/par', {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await assertion(aud),
        response_type: 'code',
        redirect_uri: redirectUri,
      })
    expect((await push(site.issuer)).body.error_description).toMatch(/PKCE/)
    for (const aud of [`${site.issuer}/token`, `${site.issuer}/par`])
      expect((await push(aud)).body.error).toBe('invalid_client')
    const [event] = await site.events('CLIENT_LOGIN')
    expect(event?.detail).toMatch(/the audience ".*\/par", which must be one of http:\S+\/acme$/)
  })

  it.each<[ClientDoc['refreshTokenRotation'], boolean, boolean]>([
    ['realm', true, true],
    ['realm', false, false],
    ['always', false, true],
    ['never', true, false],
  ])(
    'rotation %s with the realm at %s replaces a refresh token: %s',
    async (refreshTokenRotation, revokeRefreshToken, isReplaced) => {
      const { body: settings } = await site.admin('GET', '/settings')
      await site.admin('PUT', '/settings', { ...settings, revokeRefreshToken })
      const app = await site.client({
        clientId: `app-${refreshTokenRotation}-${revokeRefreshToken}`,
        grantTypes: ['refresh_token'],
        refreshTokenRotation,
      })
      const user = await addUser(site, { username: `user-${newId()}` })
      const { refreshToken } = await issueGrant(site, app, user)
      const { body } = await site.post('/token', {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: app.clientId,
        client_secret: app.secret,
      })
      expect(body.refresh_token !== refreshToken).toBe(isReplaced)
      expect(body.refresh_token).toMatch(/./)
    },
  )

  it('refreshTokenRotation never is refused for a public client without bound tokens (RFC 9700 §2.2.2)', async () => {
    const { send } = await site.server.signedIn('master', 'admin')
    const page = {
      clientId: 'page',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      refreshTokenRotation: 'never',
    }
    const { status, body } = await send('POST', '/admin/realms/acme/clients', page)
    expect([status, body.errors?.[0]?.field]).toEqual([400, '/refreshTokenRotation'])
  })

  it('requireSignedRequestObject refuses every other request, at /authorize, /par and CIBA (RFC 9101 §10.5)', async () => {
    const { secret }: TestClient = await site.client({
      clientId: 'signer',
      grantTypes: ['authorization_code', 'CIBA'],
      redirectUris: [redirectUri],
      jwks,
      requireSignedRequestObject: true,
    })
    await addUser(site, { username: 'alice' })
    const by = { client_id: 'signer', client_secret: secret }
    const asked = { response_type: 'code', redirect_uri: redirectUri, scope: 'openid' }
    const page = await newPerson(site).open(authorizeUrl(site, { clientId: 'signer' }))
    expect(answerOf(page)['error']).toBe('invalid_request')
    const hint = { scope: 'openid', login_hint: 'alice' }
    for (const [path, fields] of [
      ['/par', asked],
      ['/backchannel-authentication', hint],
    ] as const)
      expect((await site.post(path, { ...by, ...fields })).body.error).toBe('invalid_request')
    const seconds = Math.floor(Date.now() / 1000)
    const common = {
      iss: 'signer',
      aud: site.issuer,
      iat: seconds,
      nbf: seconds,
      exp: seconds + 60,
    }
    const request = await sign({ ...common, ...asked, client_id: 'signer' })
    expect((await site.post('/par', { ...by, request })).status).toBe(201)
    const ciba = await sign({ ...common, ...hint, jti: newId() })
    const begun = await site.post('/backchannel-authentication', { ...by, request: ciba })
    expect(begun.status).toBe(200)
  })
})
