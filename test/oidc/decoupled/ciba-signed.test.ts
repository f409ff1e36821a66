/** Signed authentication requests (CIBA Core §7.1.1). */

import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addUser } from '../users.ts'

describe.each(backends)('signed requests of CIBA on $name', (backend) => {
  let site: OidcSite
  let bank: TestClient
  let privateKey: CryptoKey
  let jwks: { keys: Record<string, unknown>[] }
  let count = 0

  beforeAll(async () => {
    site = await openIssuer(backend)
    const pair = await generateKeyPair('ES256')
    privateKey = pair.privateKey
    jwks = { keys: [{ ...(await exportJWK(pair.publicKey)) }] }
    bank = await site.client({
      clientId: 'bank',
      grantTypes: ['CIBA'],
      scopes: ['profile'],
      jwks,
    })
    await addUser(site, { username: 'alice' })
  })
  afterAll(() => site.close())

  const now = () => Math.floor(Date.now() / 1000)
  const sign = (
    claims: Record<string, unknown> = {},
    key: CryptoKey | Uint8Array = privateKey,
    alg = 'ES256',
  ) =>
    new SignJWT({
      iss: 'bank',
      aud: site.issuer,
      iat: now(),
      nbf: now(),
      exp: now() + 60,
      jti: `request-${++count}`,
      scope: 'openid',
      login_hint: 'alice',
      requested_expiry: 120,
      ...claims,
    } as JWTPayload)
      .setProtectedHeader({ alg })
      .sign(key)
  const begin = (request: string, more: Record<string, string> = {}) =>
    site.post('/backchannel-authentication', {
      client_id: bank.clientId,
      client_secret: bank.secret,
      request,
      ...more,
    })

  it('take their parameters from what the client signed', async () => {
    const { status, body } = await begin(await sign({ scope: 'openid profile' }))
    expect(status).toBe(200)
    expect(body).toMatchObject({ auth_req_id: expect.any(String), expires_in: 120 })
    const metadata = (await site.get('/.well-known/openid-configuration')).body
    expect(metadata.backchannel_authentication_request_signing_alg_values_supported).toContain(
      'ES256',
    )
    expect((await begin(await sign({ login_hint: 'nobody' }))).body.error).toBe('unknown_user_id')
    expect((await begin(await sign({ scope: 'openid email' }))).body.error).toBe('invalid_scope')
  })

  it('have the registered algorithm, where there is one (CIBA Core §4)', async () => {
    const register = (alg: string) =>
      site.admin('PUT', `/clients/${bank.id}`, {
        clientId: 'bank',
        grantTypes: ['CIBA'],
        scopes: ['profile'],
        jwks,
        backchannelAuthenticationRequestSigningAlg: alg,
      })
    await register('PS256')
    expect((await begin(await sign())).body.error).toBe('invalid_request')
    await register('ES256')
    expect((await begin(await sign())).status).toBe(200)
  })

  it('are good once', async () => {
    const request = await sign()
    const answers = await Promise.all(Array.from({ length: 5 }, () => begin(request)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
  })

  it('stand alone: a parameter beside them is refused, not read', async () => {
    for (const more of [{ login_hint: 'alice' }, { scope: 'openid' }, { binding_message: 'x' }])
      expect((await begin(await sign(), more)).body.error).toBe('invalid_request')
  })

  it('are refused of somebody else, for elsewhere, too old, and incomplete', async () => {
    const other = await generateKeyPair('ES256')
    const secret = new TextEncoder().encode(bank.secret)
    for (const request of [
      'nonsense',
      await sign({}, other.privateKey),
      await sign({}, secret, 'HS256'),
      await sign({ iss: 'other' }),
      await sign({ aud: 'https://elsewhere.example' }),
      await sign({ exp: now() - 60 }),
      await sign({ exp: now() + 7200 }),
      await sign({ exp: undefined }),
      await sign({ nbf: undefined }),
      await sign({ iat: undefined }),
      await sign({ iat: now() + 120 }),
      await sign({ jti: undefined }),
      await sign({ jti: true as never }),
      await sign({ jti: { toString: 1 } as never }),
      await sign({ request: 'x' }),
      await sign({ user_code: '1234' }),
    ])
      expect((await begin(request)).body.error).toBe('invalid_request')
  })
})
