/** The modules of the FAPI 2 security profile (final) about proofs of possession, each under its own name. */

import { exportJWK, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type Reply } from '../fixture.ts'
import { type Fapi, type Key, makeKey, openFapi } from './oidf.ts'

describe.each(anyBackend)('fapi2-security-profile-final-test-plan, DPoP, on $name', (backend) => {
  const now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = Math.floor(now / 1000)
  let fapi: Fapi
  let other: Key

  beforeAll(async () => {
    fapi = await openFapi(backend, clock)
    other = await makeKey()
  }, 60_000)
  afterAll(() => fapi.close())

  const isRefused = (reply: Reply, status: number, error: string): void =>
    expect([reply.status, reply.body.error]).toEqual([status, error])

  it.each([
    ['check-dpop-proof-nbf-exp', { nbf: seconds, exp: seconds + 300 }],
    ['ensure-dpopproof-with-iat-10seconds-before-succeeds', { iat: seconds - 10 }],
    ['ensure-dpopproof-with-iat-10seconds-after-succeeds', { iat: seconds + 10 }],
  ])('fapi2-security-profile-final-%s', async (_name, proof) => {
    const { code } = await fapi.authorize({}, { key: fapi.key, proof })
    const { status, body } = await fapi.exchange(code, {}, { proof })
    expect([status, body.token_type]).toEqual([200, 'DPoP'])
    expect((await fapi.userinfo(body.access_token, { proof })).status).toBe(200)
  })

  it('fapi2-security-profile-final-ensure-mismatched-dpop-jkt-fails', async () => {
    const reply = await fapi.push({ dpop_jkt: other.jkt }, { key: fapi.key })
    isRefused(reply, 400, 'invalid_dpop_proof')
  })

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt', async () => {
    const { code } = await fapi.authorize({}, { key: other })
    isRefused(await fapi.exchange(code), 400, 'invalid_grant')
  })

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-jkt', async () => {
    const { code } = await fapi.authorize({ dpop_jkt: other.jkt })
    isRefused(await fapi.exchange(code), 400, 'invalid_grant')
  })

  it('fapi2-security-profile-final-ensure-dpopproof-at-par-endpoint-binding-success', async () => {
    const { code } = await fapi.authorize({}, { key: fapi.key })
    expect((await fapi.exchange(code)).status).toBe(200)
  })

  it('fapi2-security-profile-final-ensure-dpop-auth-code-binding-success', async () => {
    const { code } = await fapi.authorize({ dpop_jkt: fapi.key.jkt })
    const { body } = await fapi.exchange(code)
    expect(claimsOf(body.access_token)['cnf']).toEqual({ jkt: fapi.key.jkt })
  })

  it('fapi2-security-profile-final-ensure-holder-of-key-required', async () => {
    const { code } = await fapi.authorize()
    isRefused(await fapi.exchange(code, {}, { key: undefined }), 400, 'invalid_request')
  })

  it.each([
    ['/token', { grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    ['/par', { response_type: 'code', redirect_uri: 'https://x' }, 400, 'invalid_request'],
    [
      '/agent/delegation/token',
      { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' },
      400,
      'unauthorized_client',
    ],
  ])(
    'a nonce challenge of %s leaves the client assertion unused (RFC 9449 §8)',
    async (path, fields, status, error) => {
      const assertion = await fapi.assertion()
      const sending = { key: fapi.key, assertion }
      isRefused(
        await fapi.send(path, fields, { ...sending, proof: { nonce: 'old' } }),
        400,
        'use_dpop_nonce',
      )
      isRefused(await fapi.send(path, fields, sending), status, error)
      isRefused(await fapi.send(path, fields, sending), 401, 'invalid_client')
    },
  )

  it('a proof that cannot be read is no nonce challenge', async () => {
    const fields = {
      grant_type: 'refresh_token',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await fapi.assertion(),
    }
    for (const dpop of ['nonsense', 'a.b.c', 'x'.repeat(9000)]) {
      const client_assertion = await fapi.assertion()
      const reply = await fapi.site.post('/token', { ...fields, client_assertion }, { dpop })
      isRefused(reply, 400, 'invalid_dpop_proof')
    }
  })

  it('a pushed request is answered with the nonce for the token request (RFC 9449 §8.2)', async () => {
    const { status, headers } = await fapi.push()
    expect(status).toBe(201)
    const nonce = headers.get('dpop-nonce') ?? undefined
    const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
    const reply = await fapi.send('/token', fields, { key: fapi.key, proof: { nonce } })
    isRefused(reply, 400, 'invalid_grant')
  })

  it('a proof by RS256 is refused where tokens are issued and where they are used (FAPI 2.0 §5.4.1)', async () => {
    const key = await makeKey('PS256')
    // One key for both algorithms: a jwk without alg leaves the choice to the header.
    expect(key.jwk).not.toHaveProperty('alg')
    const privateKey = await importJWK(await exportJWK(key.privateKey), 'RS256')
    if (privateKey instanceof Uint8Array) throw new Error('a secret')
    const weak = { ...key, alg: 'RS256', privateKey }
    const { code } = await fapi.authorize()
    isRefused(await fapi.exchange(code, {}, { key: weak }), 400, 'invalid_dpop_proof')
    const { access_token } = (await fapi.exchange(code, {}, { key })).body
    expect((await fapi.userinfo(access_token, { key })).status).toBe(200)
    const refused = await fapi.userinfo(access_token, { key: weak })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_dpop_proof"')
  })

  it('fapi2-security-profile-final-dpop-negative-tests', async () => {
    const { code } = await fapi.authorize()
    const jti = newId()
    const { access_token } = (await fapi.exchange(code)).body
    const wrong = [
      { proof: { htm: 'PUT' } },
      { proof: { htu: 'https://other.example/userinfo' } },
      { proof: { ath: 'A'.repeat(43) } },
      { proof: { ath: undefined } },
      { proof: { iat: seconds - 300 } },
      { proof: { iat: seconds + 300 } },
      { proof: { iat: undefined } },
      { proof: { jti: undefined } },
      { proof: { htm: undefined } },
      { proof: { htu: undefined } },
      { proof: { exp: seconds - 300 } },
      { proof: { nbf: seconds + 300 } },
      { proof: { nonce: 'made-up' } },
      { proofHeader: { typ: 'JWT' } },
      { proofHeader: { jwk: undefined } },
      { proofHeader: { jwk: other.jwk } },
      { key: other },
      { scheme: 'Bearer' },
    ]
    for (const one of wrong)
      expect((await fapi.userinfo(access_token, one)).status, JSON.stringify(one)).toBe(401)
    expect((await fapi.userinfo(access_token, { proof: { jti } })).status).toBe(200)
    expect((await fapi.userinfo(access_token, { proof: { jti } })).status).toBe(401)
    const bare = await fapi.site.get('/userinfo', { authorization: `DPoP ${access_token}` })
    expect(bare.status).toBe(401)
  })
})
