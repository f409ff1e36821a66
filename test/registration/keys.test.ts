/** Keys that a client registers for itself: answered as they were sent, used at the token endpoint, and replaced by an update. */

import {
  type CryptoKey,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorizeUrl, newPerson } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

const newKey = async (kid: string) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}

describe.each(anyBackend)('keys of a registered client on $name', (backend) => {
  let site: RegistrationSite
  beforeAll(async () => {
    site = await openRegistration(backend)
  })
  afterAll(() => site.close())

  /** The answer to a code that is none: 400 for the client, 401 for anybody else. */
  const authenticate = async (clientId: string, key: CryptoKey, kid: string) => {
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(site.issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key)
    const { status, body } = await site.post('/token', {
      grant_type: 'authorization_code',
      code: 'none',
      redirect_uri: web.redirect_uris[0] ?? '',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    })
    return [status, body.error]
  }
  const accepted = [400, 'invalid_grant']
  const refused = [401, 'invalid_client']

  it('make the round trip, and authenticate the client until they are replaced', async () => {
    const [first, second] = [await newKey('first'), await newKey('second')]
    const metadata = { ...web, token_endpoint_auth_method: 'private_key_jwt' }
    const made = await site.register(
      { ...metadata, jwks: { keys: [first.jwk] } },
      await site.initialToken(),
    )
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { client_id, registration_client_uri: url, registration_access_token: own } = made.body
    expect(made.body.jwks).toEqual({ keys: [first.jwk] })
    expect(made.body).not.toHaveProperty('client_secret')
    expect((await site.manage('GET', url, own)).body.jwks).toEqual({ keys: [first.jwk] })
    expect(await authenticate(client_id, first.privateKey, 'first')).toEqual(accepted)
    expect(await authenticate(client_id, second.privateKey, 'first')).toEqual(refused)
    const changed = await site.manage('PUT', url, own, {
      ...metadata,
      client_id,
      jwks: { keys: [second.jwk] },
    })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    expect(await authenticate(client_id, second.privateKey, 'second')).toEqual(accepted)
    expect(await authenticate(client_id, first.privateKey, 'first')).toEqual(refused)
  })

  it('sign by the registered algorithms alone (OIDC Registration §2)', async () => {
    const [es, ps] = await Promise.all(
      ['ES256', 'PS256'].map(async (alg) => {
        const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
        return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid: alg, alg } }
      }),
    )
    if (!es || !ps) throw new Error('no keys')
    const { status, body } = await site.register(
      {
        ...web,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        request_object_signing_alg: 'PS256',
        jwks: { keys: [es.jwk, ps.jwk] },
      },
      await site.initialToken(),
    )
    expect(status, JSON.stringify(body)).toBe(201)
    expect(body).toMatchObject({
      token_endpoint_auth_signing_alg: 'ES256',
      request_object_signing_alg: 'PS256',
    })
    const sign = ({ alg, privateKey }: typeof es, claims: JWTPayload) =>
      new SignJWT({ jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg, kid: alg })
        .setIssuer(body.client_id)
        .setAudience(site.issuer)
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign(privateKey)
    const push = async (assertionBy: typeof es, objectBy: typeof es) => {
      const answer = await site.post('/par', {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await sign(assertionBy, { sub: body.client_id }),
        request: await sign(objectBy, {
          client_id: body.client_id,
          response_type: 'code',
          redirect_uri: web.redirect_uris[0],
          scope: 'openid',
        }),
      })
      return [answer.status, answer.body.error]
    }
    expect(await push(es, ps)).toEqual([201, undefined])
    expect(await push(ps, ps)).toEqual([401, 'invalid_client'])
    expect(await push(es, es)).toEqual([400, 'invalid_request_object'])
  })

  it.each([
    [{}, 'RS256'],
    [{ id_token_signed_response_alg: 'PS256' }, 'RS256'],
    [{ authorization_signed_response_alg: 'PS256' }, 'PS256'],
  ])(
    'authorization responses of a client with %j are signed by %s (JARM §3)',
    async (metadata, alg) => {
      const { status, body } = await site.register(
        { ...web, ...metadata },
        await site.initialToken(),
      )
      expect(status, JSON.stringify(body)).toBe(201)
      expect(body).toMatchObject(metadata)
      const asked = { response_mode: 'jwt', prompt: 'none' }
      const url = authorizeUrl(site, { clientId: body.client_id }, asked)
      const { away = '' } = await newPerson(site).open(url)
      const response = new URL(away).searchParams.get('response') ?? ''
      expect(decodeProtectedHeader(response)).toMatchObject({ alg })
    },
  )

  it.each([
    ['authorization_signed_response_alg', 'none'],
    ['authorization_signed_response_alg', 'ES256'],
    ['token_endpoint_auth_signing_alg', 'none'],
    ['token_endpoint_auth_signing_alg', 'HS256'],
    ['request_object_signing_alg', 'none'],
    ['request_object_signing_alg', 'HS256'],
    ['backchannel_authentication_request_signing_alg', 'none'],
  ])('sign by algorithms that are offered: %s %s is refused', async (name, algorithm) => {
    const { jwk } = await newKey('own')
    const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } }
    const metadata = { ...web, ...keys, [name]: algorithm }
    const { status, body } = await site.register(metadata, await site.initialToken())
    expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
    expect(body.error_description).toContain(name)
  })

  it('of a type or curve that is not understood are ignored beside another one (RFC 7517 §5)', async () => {
    const { privateKey, jwk } = await newKey('own')
    const unknown = [
      { kty: 'LATTICE', kid: 'own', alg: 'ES256', pub: 'AAAA' },
      { kty: 'EC', crv: 'P-1024', x: 'AAAA', y: 'AAAA', kid: 'own' },
    ]
    const metadata = { ...web, token_endpoint_auth_method: 'private_key_jwt' }
    const token = await site.initialToken()
    const jwks = { keys: [...unknown, jwk] }
    const { status, body } = await site.register({ ...metadata, jwks }, token)
    expect(status, JSON.stringify(body)).toBe(201)
    expect(await authenticate(body.client_id, privateKey, 'own')).toEqual(accepted)
    for (const keys of [
      unknown,
      [{ kty: 'LATTICE', priv: 'AAAA' }, jwk],
      [{ ...jwk, kty: undefined }, jwk],
      [{ ...jwk, x: undefined }, jwk],
    ]) {
      const refused = await site.register({ ...metadata, jwks: { keys } }, token)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_client_metadata'])
    }
  })

  it('must be public, and there is one place for them (RFC 7591 §2)', async () => {
    const { privateKey, jwk } = await newKey('own')
    const token = await site.initialToken()
    const metadata = { ...web, token_endpoint_auth_method: 'private_key_jwt' }
    for (const wrong of [
      { jwks: { keys: [await exportJWK(privateKey)] } },
      { jwks: { keys: [jwk] }, jwks_uri: 'https://app.example/jwks' },
    ]) {
      const { status, body } = await site.register({ ...metadata, ...wrong }, token)
      expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
    }
  })
})
