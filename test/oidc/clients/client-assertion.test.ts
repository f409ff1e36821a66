/** Client authentication by signed assertions: private_key_jwt and client_secret_jwt (RFC 7523, OIDC Core §9). */

import { createSecretKey } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'

const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const makeKey = async (alg: string, kid: string) => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } as JWK }
}

describe.each(backends)('client assertions on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = () => Math.floor(now / 1000)
  let site: OidcSite
  let other: TestServer
  let keys: Awaited<ReturnType<typeof makeKey>>[]
  let byKey: TestClient
  let bySecret: TestClient
  const grantTypes = ['client_credentials' as const]

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    // A SQLite file belongs to one server; PostgreSQL is shared by several.
    other =
      backend.name === 'postgres'
        ? await startServer(backend, { clock, url: site.server.url })
        : site.server
    keys = await Promise.all(['ES256', 'RS256', 'PS256', 'EdDSA'].map((alg) => makeKey(alg, alg)))
    const settings = (await site.admin('GET', '/settings')).body
    await site.admin('PUT', '/settings', { ...settings, clientSecretStorage: 'revealable' })
    byKey = await site.client({
      clientId: 'by-key',
      grantTypes,
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: { keys: keys.map(({ jwk }) => jwk as Record<string, unknown>) },
    })
    bySecret = await site.client({
      clientId: 'by-secret',
      grantTypes,
      tokenEndpointAuthMethod: 'client_secret_jwt',
    })
  })
  afterAll(async () => {
    if (other !== site.server) await other.close()
    await site.close()
  })

  const good = (clientId = byKey.clientId): JWTPayload => ({
    iss: clientId,
    sub: clientId,
    aud: site.issuer,
    jti: newId(),
    iat: seconds(),
    exp: seconds() + 60,
  })
  const signed = (claims: JWTPayload, header: object = {}, index = 0) => {
    const key = keys[index]
    if (!key) throw new Error('no such key')
    const { alg, kid, privateKey } = key
    return new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  }
  const withSecret = (claims: JWTPayload, secret: string, alg = 'HS256') =>
    new SignJWT(claims).setProtectedHeader({ alg }).sign(createSecretKey(secret, 'utf8'))
  const fieldsOf = (assertion: string) => ({
    grant_type: 'client_credentials',
    client_assertion_type: type,
    client_assertion: assertion,
  })
  const send = (assertion: string, more: Record<string, string> = {}) =>
    site.post('/token', { ...fieldsOf(assertion), ...more })
  const refusal = async (assertion: string): Promise<unknown> => {
    const { status, body } = await send(assertion)
    return [status, body.error]
  }

  it('tries ten keys of a client for an assertion without a kid (CWE-405)', async () => {
    const many = await Promise.all(
      Array.from({ length: 11 }, (_, index) => makeKey('ES256', `many-${index}`)),
    )
    const { clientId } = await site.client({
      clientId: 'many-keys',
      grantTypes,
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: { keys: many.map(({ jwk }) => jwk as Record<string, unknown>) },
    })
    const { jwks } = (await site.admin('GET', `/clients/${clientId}`)).body
    const kids: string[] = jwks.keys.map(({ kid }: { kid: string }) => kid)
    const statusOf = async (index: number, header: object): Promise<number> => {
      const key = many.find(({ kid }) => kid === kids[index])
      const privateKey = key?.privateKey ?? Promise.reject(new Error('no such key'))
      const claims = new SignJWT(good(clientId))
      const protectedHeader = { alg: 'ES256', ...header }
      return (await send(await claims.setProtectedHeader(protectedHeader).sign(await privateKey)))
        .status
    }
    expect(await statusOf(9, {})).toBe(200)
    expect(await statusOf(10, {})).toBe(401)
    expect(await statusOf(10, { kid: kids[10] })).toBe(200)
  })

  it.each([0, 1, 2, 3])('takes every algorithm that it says it takes (%i)', async (index) => {
    const { status, body } = await send(await signed(good(), {}, index))
    expect([status, body.token_type]).toEqual([200, 'Bearer'])
    const { body: metadata } = await site.get('/.well-known/openid-configuration')
    expect(metadata.token_endpoint_auth_methods_supported).toContain('private_key_jwt')
    expect(metadata.token_endpoint_auth_signing_alg_values_supported).toContain(keys[index]?.alg)
  })

  it('works with openid-client and oauth4webapi', async () => {
    const key = keys[0]
    if (!key) throw new Error('no key')
    const execute = [openid.allowInsecureRequests]
    const config = await openid.discovery(
      new URL(site.issuer),
      byKey.clientId,
      undefined,
      openid.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }),
      { execute },
    )
    expect((await openid.clientCredentialsGrant(config)).access_token).toMatch(/^ey/)

    const as: oauth.AuthorizationServer = {
      issuer: site.issuer,
      token_endpoint: `${site.issuer}/token`,
    }
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      { client_id: bySecret.clientId },
      oauth.ClientSecretJwt(bySecret.secret),
      {},
      { [oauth.allowInsecureRequests]: true },
    )
    const result = await oauth.processClientCredentialsResponse(
      as,
      { client_id: bySecret.clientId },
      response,
    )
    expect(result.access_token).toMatch(/^ey/)
  })

  it('lets an assertion pass once, also when it is sent to two nodes at once (GHSA-3p3g-vpw6-4w66)', async () => {
    const assertion = await signed(good())
    const elsewhere = () =>
      other.anonymous.send(
        'POST',
        '/realms/acme/token',
        new URLSearchParams(fieldsOf(assertion)).toString(),
        { 'content-type': 'application/x-www-form-urlencoded' },
      )
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => [send(assertion), elsewhere()]).flat(),
    )
    const passed = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status, body }) => status === 401 && body.error)
    expect([passed.length, refused.length]).toEqual([1, 49])
    now += 30_000
    expect(await refusal(assertion)).toEqual([401, 'invalid_client'])
  })

  it('takes times with fractions, as `time.time()` gives them, and still passes once (RFC 7519 §2)', async () => {
    const assertion = await signed({
      ...good(),
      iat: seconds() - 0.25,
      exp: seconds() + 60.1234567,
    })
    expect((await send(assertion)).status).toBe(200)
    expect(await refusal(assertion)).toEqual([401, 'invalid_client'])
  })

  it.each([null, 5, true, ['by-key'], { a: 1 }, []])(
    'is of no client for the sub %j',
    async (sub) => {
      const claims = { ...good(), sub } as unknown as JWTPayload
      expect(await refusal(await signed(claims))).toEqual([401, 'invalid_client'])
    },
  )

  it('lets two clients use the same jti', async () => {
    const jti = newId()
    expect((await send(await signed({ ...good(), jti }))).status).toBe(200)
    const theirs = await withSecret({ ...good('by-secret'), jti }, bySecret.secret)
    expect((await send(theirs)).status).toBe(200)
  })

  it.each<[string, () => Record<string, unknown>]>([
    ['another audience', () => ({ aud: 'https://other.example' })],
    ['an audience of several', () => ({ aud: [site.issuer, 'https://other.example'] })],
    ['an empty list as audience', () => ({ aud: [] })],
    ['a list in a list as audience', () => ({ aud: [[site.issuer]] })],
    ['the audience of another endpoint', () => ({ aud: `${site.issuer}/par` })],
    ['another realm as audience', () => ({ aud: site.issuer.replace('acme', 'master') })],
    ['no audience', () => ({ aud: undefined })],
    ['another issuer', () => ({ iss: 'by-secret' })],
    ['no issuer', () => ({ iss: undefined })],
    ['another subject', () => ({ sub: 'by-secret' })],
    ['no subject', () => ({ sub: undefined })],
    ['no jti', () => ({ jti: undefined })],
    ['an empty jti', () => ({ jti: '' })],
    ['no exp', () => ({ exp: undefined })],
    ['an exp in the past', () => ({ exp: seconds() - 61 })],
    ['an exp in the far future without iat', () => ({ exp: seconds() + 3600, iat: undefined })],
    ['an iat of long ago', () => ({ iat: seconds() - 3600, exp: seconds() + 3600 })],
    ['an iat and exp to come', () => ({ iat: seconds() + 120, exp: seconds() + 3600 })],
    ['an iat to come', () => ({ iat: seconds() + 120 })],
    ['an nbf to come', () => ({ nbf: seconds() + 120 })],
  ])('refuses %s', async (_title, change) => {
    expect(await refusal(await signed({ ...good(), ...change() }))).toEqual([401, 'invalid_client'])
  })

  it('takes the issuer, the token endpoint and the endpoint that is called as audience (RFC 7523 §3, RFC 9126 §2, CIBA §7.1)', async () => {
    const endpoints = [
      '/token',
      '/par',
      '/backchannel-authentication',
      '/introspect',
      '/revoke',
      '/device',
    ]
    const wrong: string[] = []
    for (const called of endpoints)
      for (const audience of ['', ...endpoints, '/userinfo']) {
        const { body } = await site.post(called, {
          token: 'x',
          client_assertion: await signed({ ...good(), aud: `${site.issuer}${audience}` }),
          client_assertion_type: type,
        })
        const isTaken = body.error !== 'invalid_client'
        if (isTaken !== ['', '/token', called].includes(audience))
          wrong.push(`${called} ${isTaken ? 'takes' : 'refuses'} ${audience}`)
      }
    expect(wrong).toEqual([])
  })

  it('takes a list of audiences that are all its own, as pyoidc and openid-client 5 send it (RFC 7519 §4.1.3)', async () => {
    const aud = [site.issuer, `${site.issuer}/token`]
    for (const list of [aud, aud.slice(0, 1), aud.slice(1)])
      expect((await send(await signed({ ...good(), aud: list }))).status).toBe(200)
  })

  it('takes an exp of an hour, as Authlib asks for it, for five minutes after iat, and still once', async () => {
    const long = () => ({ ...good(), exp: seconds() + 3600 })
    const [used, kept, late] = await Promise.all([signed(long()), signed(long()), signed(long())])
    expect((await send(used)).status).toBe(200)
    now += 300_000
    expect((await send(kept)).status).toBe(200)
    expect(await refusal(used)).toEqual([401, 'invalid_client'])
    now += 61_000
    for (const one of [used, late]) expect(await refusal(one)).toEqual([401, 'invalid_client'])
    const [event] = await site.events('CLIENT_LOGIN')
    expect(event?.detail).toContain('was made more than 300 seconds ago')
  })

  it('says in the audit event which audience was wrong, and what it must be', async () => {
    const aud = 'https://elsewhere.example'
    expect(await refusal(await signed({ ...good(), aud }))).toEqual([401, 'invalid_client'])
    const [event] = await site.events('CLIENT_LOGIN')
    expect(event?.detail).toBe(
      `invalid_client: its assertion has the audience "${aud}", which must be one of ${site.issuer}, ${site.issuer}/token`,
    )
    expect(await refusal(await signed({ ...good(), aud: [site.issuer, aud] }))).toEqual([
      401,
      'invalid_client',
    ])
    const [ofList] = await site.events('CLIENT_LOGIN')
    expect(ofList?.detail).toContain(`the audience ["${site.issuer}","${aud}"]`)
  })

  it('tolerates clocks that differ a little', async () => {
    for (const change of [{ nbf: seconds() + 8 }, { exp: seconds() - 10 }, { iat: seconds() + 10 }])
      expect((await send(await signed({ ...good(), ...change }))).status).toBe(200)
  })

  it('believes no other key and no other algorithm (CVE-2026-11800)', async () => {
    const [es] = keys
    const stranger = await makeKey('ES256', 'ES256')
    const claims = good()
    const unsigned = `${btoa('{"alg":"none"}')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
    const attacks = [
      unsigned.replaceAll('=', ''),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'ES256', jwk: stranger.jwk })
        .sign(stranger.privateKey),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'new', jku: 'https://evil.example/jwks' })
        .sign(stranger.privateKey),
      // The public key as the secret.
      await withSecret(claims, JSON.stringify(es?.jwk)),
      await withSecret(claims, 'x'.repeat(64), 'HS512'),
      await signed(claims, { typ: 'at+jwt' }),
      await signed(claims, { typ: 'dpop+jwt' }),
      await signed(claims, { typ: 5 }),
      'a.b.c',
      'nonsense',
    ]
    for (const attack of attacks) expect(await refusal(attack)).toEqual([401, 'invalid_client'])
  })

  it.each(['JWT', 'application/jwt', 'application/client-authentication+jwt'])(
    'takes an assertion that says it is %s (RFC 7515 §4.1.9)',
    async (typ) => {
      expect((await send(await signed(good(), { typ }))).status).toBe(200)
    },
  )

  it('lets a client use only the way that it is registered for', async () => {
    const secret = (await site.admin('POST', `/clients/${byKey.id}/secret`, {})).body.value
    for (const assertion of [
      await withSecret(good(), secret),
      await signed(good('by-secret')),
      await signed(good('nobody')),
    ])
      expect(await refusal(assertion)).toEqual([401, 'invalid_client'])
    const { status, body } = await site.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'by-secret',
      client_secret: bySecret.secret,
    })
    expect([status, body.error]).toEqual([401, 'invalid_client'])
  })

  it('refuses an assertion beside other credentials, or for another client_id', async () => {
    for (const more of [{ client_id: 'by-secret' }, { client_id: 'by-key', client_secret: 'x' }]) {
      const { status, body } = await send(await signed(good()), more)
      expect([status, body.error]).toEqual([400, 'invalid_request'])
    }
    expect((await send(await signed(good()), { client_id: 'by-key' })).status).toBe(200)
    const odd = await send(await signed(good()), { client_assertion_type: 'magic' })
    expect([odd.status, odd.body.error]).toEqual([400, 'invalid_request'])
  })

  it('takes the secret before while it is tolerated', async () => {
    const { body } = await site.admin('POST', `/clients/${bySecret.id}/secret`, {
      graceSeconds: 60,
    })
    const tryWith = async (secret: string) =>
      (await send(await withSecret(good('by-secret'), secret))).status
    expect([await tryWith(bySecret.secret), await tryWith(body.value)]).toEqual([200, 200])
    now += 61_000
    expect([await tryWith(bySecret.secret), await tryWith(body.value)]).toEqual([401, 200])
  })

  it('finds the key among several where the header names none', async () => {
    const two = await Promise.all([makeKey('ES256', 'one'), makeKey('ES256', 'two')])
    const clientId = 'two-keys'
    await site.client({
      clientId,
      grantTypes,
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: { keys: two.map(({ jwk: { kid, ...jwk } }) => jwk as Record<string, unknown>) },
    })
    for (const { privateKey } of two) {
      const jwt = new SignJWT(good(clientId)).setProtectedHeader({ alg: 'ES256' })
      expect((await send(await jwt.sign(privateKey))).status).toBe(200)
    }
    const stranger = await makeKey('ES256', 'one')
    const jwt = new SignJWT(good(clientId)).setProtectedHeader({ alg: 'ES256' })
    expect(await refusal(await jwt.sign(stranger.privateKey))).toEqual([401, 'invalid_client'])
  })

  it('takes no signature for good where the key cannot be used, and still finds the one beside it', async () => {
    const [bad, fine] = await Promise.all([makeKey('ES256', 'one'), makeKey('ES256', 'two')])
    const unusable = { ...bad.jwk, key_ops: ['verify', 'bogus'] }
    const add = (clientId: string, jwks: JWK[]) =>
      site.client({
        clientId,
        grantTypes,
        tokenEndpointAuthMethod: 'private_key_jwt',
        jwks: { keys: jwks.map(({ kid, ...jwk }) => jwk as Record<string, unknown>) },
      })
    await add('unusable', [unusable])
    await add('unusable-beside', [unusable, fine.jwk])
    const by = (clientId: string, { privateKey }: typeof bad) =>
      new SignJWT(good(clientId)).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
    expect(await refusal(await by('unusable', bad))).toEqual([401, 'invalid_client'])
    const [event] = await site.events('CLIENT_LOGIN')
    expect(event?.detail).toBe('invalid_client: its credentials are wrong')
    expect(await refusal(await by('unusable-beside', bad))).toEqual([401, 'invalid_client'])
    expect((await send(await by('unusable-beside', fine))).status).toBe(200)
  })
})
