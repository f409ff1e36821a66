/** Invalid and weak DPoP keys: the proof is refused at every endpoint (RFC 9449 §5, §7.1). */

import { createHash, generateKeyPairSync } from 'node:crypto'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { addUser, issueGrant } from '../users.ts'

type AnyKey = Record<string, unknown>
/** What is in the header beside a good key, and instead of it. */
type Change = (good: JWK) => { readonly alg?: string; readonly jwk: AnyKey }

const publicJwk = (make: () => ReturnType<typeof generateKeyPairSync>): AnyKey =>
  ({ ...make().publicKey.export({ format: 'jwk' }) }) as AnyKey
const small = publicJwk(() => generateKeyPairSync('rsa', { modulusLength: 1024 }))
const p384 = publicJwk(() => generateKeyPairSync('ec', { namedCurve: 'P-384' }))

const malformed: readonly [string, Change][] = [
  ['a point that is not on its curve', (good) => ({ jwk: { ...good, x: 'AAAA', y: 'AAAA' } })],
  ['a modulus of 1024 bits', () => ({ alg: 'RS256', jwk: small })],
  ['no modulus', () => ({ alg: 'RS256', jwk: { kty: 'RSA', e: 'AQAB' } })],
  ['too few bytes', () => ({ alg: 'EdDSA', jwk: { kty: 'OKP', crv: 'Ed25519', x: 'AA' } })],
  ['a curve that is not taken', () => ({ alg: 'EdDSA', jwk: { kty: 'OKP', crv: 'Ed448' } })],
  ['the curve of another algorithm', () => ({ jwk: p384 })],
  ['another operation', (good) => ({ jwk: { ...good, key_ops: ['sign'] } })],
  ['no operation at all', (good) => ({ jwk: { ...good, key_ops: ['bogus'] } })],
  ['an empty list for a coordinate', (good) => ({ jwk: { ...good, x: [] } })],
  ['a list that holds the coordinate', (good) => ({ jwk: { ...good, x: [good.x] } })],
  ['an object for a coordinate', (good) => ({ jwk: { ...good, x: { toString: 1 } } })],
]

describe.each(anyBackend)('keys of proofs on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  let pair: GenerateKeyPairResult
  let jwk: JWK
  let nonce = ''
  let userToken: string
  let adminToken: string

  /** Signed by the good key for every header; jose itself would not sign under such a header. */
  const proof = async (
    method: string,
    address: string,
    { alg = 'ES256', jwk: key }: ReturnType<Change>,
    token = '',
  ): Promise<string> => {
    const ath = createHash('sha256').update(token).digest('base64url')
    const claims = { htm: method, htu: address, jti: newId(), ath, nonce }
    const jwt = new SignJWT(claims).setIssuedAt()
    if (alg === 'ES256')
      return jwt.setProtectedHeader({ alg, typ: 'dpop+jwt', jwk: key as JWK }).sign(pair.privateKey)
    const header = Buffer.from(JSON.stringify({ alg, typ: 'dpop+jwt', jwk: key }))
    const good = await jwt.setProtectedHeader({ alg: 'ES256' }).sign(pair.privateKey)
    return [header.toString('base64url'), ...good.split('.').slice(1)].join('.')
  }
  const post = async (path: string, fields: Record<string, string>, key: ReturnType<Change>) =>
    site.post(
      path,
      { client_id: client.clientId, client_secret: client.secret, ...fields },
      { dpop: await proof('POST', `${site.issuer}${path}`, key) },
    )
  const get = async (url: string, token: string, key: ReturnType<Change>) =>
    fetch(url, {
      headers: { authorization: `DPoP ${token}`, dpop: await proof('GET', url, key, token) },
    })
  const adminUrl = () => `${site.server.baseUrl}/admin/realms/acme/clients`
  const good = () => ({ jwk: jwk as AnyKey })

  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials', 'refresh_token', 'authorization_code'],
      redirectUris: ['https://service.example/callback'],
      serviceAccountsEnabled: true,
      audiences: [`${site.server.baseUrl}/admin`],
    })
    pair = await generateKeyPair('ES256', { extractable: true })
    jwk = await exportJWK(pair.publicKey)
    const first = await post('/token', { grant_type: 'client_credentials' }, good())
    nonce = first.headers.get('dpop-nonce') ?? ''
    const alice = await addUser(site, { username: 'alice' })
    const { refreshToken: refresh_token } = await issueGrant(site, client, alice)
    const ofUser = await post('/token', { grant_type: 'refresh_token', refresh_token }, good())
    userToken = ofUser.body.access_token
    const ofClient = await post('/token', { grant_type: 'client_credentials' }, good())
    adminToken = ofClient.body.access_token
  })
  afterAll(() => site.close())

  it('are taken everywhere where they are good', async () => {
    expect((await get(`${site.issuer}/userinfo`, userToken, good())).status).toBe(200)
    // The proof is good; the client has no permission.
    expect((await get(adminUrl(), adminToken, good())).status).toBe(403)
  })

  it.each(malformed)('with %s make no proof', async (_title, change) => {
    const bad = change(jwk)
    const issued = [
      await post('/token', { grant_type: 'client_credentials' }, bad),
      await post(
        '/par',
        { response_type: 'code', redirect_uri: 'https://service.example/callback' },
        bad,
      ),
    ]
    for (const { status, body } of issued)
      expect([status, body.error]).toEqual([400, 'invalid_dpop_proof'])
    const used = [
      await get(`${site.issuer}/userinfo`, userToken, bad),
      await get(adminUrl(), adminToken, bad),
    ]
    for (const { status, headers } of used) {
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toContain('error="invalid_dpop_proof"')
      expect(headers.get('www-authenticate')).toContain('resource_metadata="')
    }
  })
})
