/** Proofs of possession where tokens are issued, and where they are used (RFC 9449). */

import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OAuthError } from '#server/oidc/errors.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type Reply, type TestClient } from '../fixture.ts'

interface Key {
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}
const makeKey = async (alg = 'ES256'): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, privateKey, jwk: await exportJWK(publicKey) }
}

describe.each(backends)('DPoP on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = () => Math.floor(now / 1000)
  let site: OidcSite
  let client: TestClient
  let bound: TestClient
  let key: Key
  let nonce: string

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const grantTypes = ['client_credentials' as const]
    client = await site.client({ clientId: 'service', grantTypes, audiences: ['service'] })
    bound = await site.client({ clientId: 'bound', grantTypes, dpopBoundAccessTokens: true })
    key = await makeKey()
  })
  afterAll(() => site.close())

  const claims = (): Record<string, unknown> => ({
    htm: 'POST',
    htu: `${site.issuer}/token`,
    iat: seconds(),
    jti: newId(),
    nonce,
  })
  const proof = (more: Record<string, unknown> = {}, header: object = {}, by = key) =>
    new SignJWT({ ...claims(), ...more })
      .setProtectedHeader({ alg: by.alg, typ: 'dpop+jwt', jwk: by.jwk, ...header })
      .sign(by.privateKey)
  const send = (dpop: string, { clientId, secret } = client): Promise<Reply> =>
    site.post(
      '/token',
      { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
      { dpop },
    )
  const freshNonce = async (): Promise<string> => {
    const { headers } = await send(await proof({ nonce: undefined }))
    return headers.get('dpop-nonce') ?? ''
  }

  it('asks for its nonce first (§8)', async () => {
    const { status, headers, body } = await send(await proof({ nonce: undefined }))
    expect([status, body.error]).toEqual([400, 'use_dpop_nonce'])
    expect(headers.get('cache-control')).toBe('no-store')
    nonce = headers.get('dpop-nonce') ?? ''
    expect(nonce).toMatch(/^[\w-]{43}$/)
    const good = await send(await proof())
    expect([good.status, good.body.token_type]).toEqual([200, 'DPoP'])
    expect(good.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
  })

  it('binds the token to the key, for introspection to see (§6)', async () => {
    nonce = await freshNonce()
    const jkt = await calculateJwkThumbprint(key.jwk)
    const { access_token } = (await send(await proof())).body
    expect(claimsOf(access_token)['cnf']).toEqual({ jkt })
    const { body } = await site.post('/introspect', {
      token: access_token,
      client_id: client.clientId,
      client_secret: client.secret,
    })
    expect(body).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt } })
    expect(claimsOf(await site.token(client))['cnf']).toBeUndefined()
  })

  it('wants a proof of clients whose tokens must be bound', async () => {
    nonce = await freshNonce()
    await expect(site.token(bound)).rejects.toThrow('invalid_request')
    expect((await send('nonsense', bound)).body.error).toBe('invalid_dpop_proof')
    expect((await send(await proof(), bound)).body.token_type).toBe('DPoP')
  })

  it.each(['RS256', 'PS256', 'EdDSA'])('takes proofs by %s', async (alg) => {
    nonce = await freshNonce()
    expect((await send(await proof({}, {}, await makeKey(alg)))).status).toBe(200)
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body.dpop_signing_alg_values_supported).toContain(alg)
  })

  it('forgets its nonces after three minutes', async () => {
    nonce = await freshNonce()
    now += 119_000
    expect((await send(await proof())).status).toBe(200)
    now += 61_000
    const late = await send(await proof())
    expect([late.status, late.body.error]).toEqual([400, 'use_dpop_nonce'])
    expect((await send(await proof({ nonce: 'made-up' }))).body.error).toBe('use_dpop_nonce')
  })

  it('takes a proof once, of many at the same moment one', async () => {
    nonce = await freshNonce()
    const one = await proof()
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(one)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    const refused = answers.filter(({ body }) => body.error === 'invalid_dpop_proof')
    expect(refused.length).toBe(19)
  })

  it.each<[string, () => Record<string, unknown>]>([
    ['another method', () => ({ htm: 'GET' })],
    ['another address', () => ({ htu: `${site.issuer}/par` })],
    ['another realm', () => ({ htu: `${site.issuer.replace('acme', 'other')}/token` })],
    ['another host', () => ({ htu: 'https://evil.example/realms/acme/token' })],
    ['no address', () => ({ htu: undefined })],
    ['what is no address', () => ({ htu: 'token' })],
    ['no jti', () => ({ jti: undefined })],
    ['a jti that is no text', () => ({ jti: 5 })],
    ['no iat', () => ({ iat: undefined })],
    ['a time long ago', () => ({ iat: seconds() - 61 })],
    ['a time to come', () => ({ iat: seconds() + 61 })],
    ['an exp that has passed', () => ({ exp: seconds() - 61 })],
    ['an nbf that has not come', () => ({ nbf: seconds() + 61 })],
  ])('refuses a proof for %s (§4.3)', async (_title, change) => {
    nonce = await freshNonce()
    const { status, body } = await send(await proof(change()))
    expect([status, body.error]).toEqual([400, 'invalid_dpop_proof'])
  })

  it('takes clocks that differ by ten seconds, and an address with a query', async () => {
    nonce = await freshNonce()
    for (const change of [
      { iat: seconds() - 10 },
      { iat: seconds() + 10 },
      { htu: `${site.issuer}/token?a=b#c` },
    ])
      expect((await send(await proof(change))).status).toBe(200)
  })

  it('refuses proofs that are signed otherwise', async () => {
    nonce = await freshNonce()
    const stranger = await makeKey()
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const good = await proof()
    const privateJwk = await exportJWK(key.privateKey)
    const attacks = [
      await proof({}, { typ: 'JWT' }),
      await proof({}, { typ: undefined }),
      await proof({}, { jwk: stranger.jwk }),
      await proof({}, { jwk: privateJwk }),
      await proof({}, { jwk: undefined }),
      await proof({}, { jwk: { kty: 'oct', k: 'c2VjcmV0' } }),
      `${encode({ alg: 'none', typ: 'dpop+jwt', jwk: key.jwk })}.${encode(claims())}.`,
      `${good}, ${await proof()}`,
      good.slice(0, -4),
      'nonsense',
      'x'.repeat(9000),
    ]
    for (const attack of attacks) {
      const { status, body } = await send(attack)
      expect([status, body.error]).toEqual([400, 'invalid_dpop_proof'])
    }
  })

  it('works with openid-client, which learns the nonce by itself', async () => {
    now = Date.now()
    const config = await openid.discovery(
      new URL(site.issuer),
      bound.clientId,
      undefined,
      openid.ClientSecretPost(bound.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair())
    for (let i = 0; i < 2; i += 1) {
      const tokens = await openid.clientCredentialsGrant(config, {}, { DPoP })
      expect(tokens.token_type).toBe('dpop')
      expect(claimsOf(tokens.access_token)['cnf']).toHaveProperty('jkt')
    }
  })

  describe('where a token is used', () => {
    const use = async (
      scheme: 'Bearer' | 'DPoP',
      token: string,
      dpop: string | undefined,
    ): Promise<Partial<OAuthError> | undefined> => {
      const issuer = await site.server.areas.tokens.issuers.fresh('acme')
      if (!issuer) throw new Error('no realm')
      const request = {
        method: 'GET',
        headers: dpop === undefined ? {} : { dpop },
        routeOptions: { url: '/realms/:realm/userinfo' },
      } as unknown as FastifyRequest
      const verified = await site.server.areas.tokens.verifier.accessToken(issuer, token)
      if (!verified) throw new Error('no token')
      const presented = { ...verified, scheme, token }
      return site.server.areas.oidc.dpop
        .checkPossession(issuer, request, presented)
        .then(() => undefined)
        .catch((error: OAuthError) => error)
    }
    const ath = (token: string) => createHash('sha256').update(token).digest('base64url')
    const here = (token: string) => ({
      htm: 'GET',
      htu: `${site.issuer}/userinfo`,
      ath: ath(token),
      nonce: undefined,
    })
    let token: string
    beforeAll(async () => {
      nonce = await freshNonce()
      token = (await send(await proof())).body.access_token
    })

    it('a bound token comes with a proof of its key, each once', async () => {
      const one = await proof(here(token))
      expect(await use('DPoP', token, one)).toBeUndefined()
      expect(await use('DPoP', token, one)).toMatchObject({
        code: 'invalid_dpop_proof',
        status: 401,
        challenge: 'DPoP',
      })
    })

    it('a bound token is no bearer token, and an unbound one no other', async () => {
      expect(await use('Bearer', token, undefined)).toMatchObject({ code: 'invalid_token' })
      expect(await use('DPoP', token, undefined)).toMatchObject({ code: 'invalid_dpop_proof' })
      const plain = await site.token(client)
      expect(await use('Bearer', plain, undefined)).toBeUndefined()
      expect(await use('DPoP', plain, await proof(here(plain)))).toMatchObject({
        code: 'invalid_token',
      })
    })

    it('a proof by another key or for another token does not help', async () => {
      expect(await use('DPoP', token, await proof(here(token), {}, await makeKey()))).toMatchObject(
        { code: 'invalid_token', status: 401 },
      )
      for (const change of [{ ath: ath('other') }, { ath: undefined }, { htm: 'POST' }])
        expect(await use('DPoP', token, await proof({ ...here(token), ...change }))).toMatchObject({
          code: 'invalid_dpop_proof',
          status: 401,
        })
    })

    it('a nonce need not be there, but must be right', async () => {
      expect(await use('DPoP', token, await proof({ ...here(token), nonce }))).toBeUndefined()
      expect(
        await use('DPoP', token, await proof({ ...here(token), nonce: 'made-up' })),
      ).toMatchObject({ code: 'use_dpop_nonce', status: 401, challenge: 'DPoP' })
    })
  })
})
