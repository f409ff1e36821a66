/**
 * The modules of the public certification suite for the FAPI 2 security profile (final) with private_key_jwt and DPoP:
 * pushed requests, their answers and the client's assertions, each module under its own name. The modules about proofs
 * are in oidf-fapi2-dpop.test.ts.
 */

import { createLocalJWKSet, exportJWK, importJWK, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type Reply } from '../fixture.ts'
import {
  answerOf,
  authorizeUrl,
  codeOf,
  newPerson,
  password,
  redirectUri,
} from '../relying-party.ts'
import { type Fapi, interactionId, openFapi, type Some } from './oidf.ts'

describe.each(anyBackend)('fapi2-security-profile-final-test-plan on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = () => Math.floor(now / 1000)
  let fapi: Fapi

  beforeAll(async () => {
    fapi = await openFapi(backend, clock)
  }, 60_000)
  afterAll(() => fapi.close())

  /** From the pushed request to the tokens. */
  const tokens = async (asked: Some = {}) => {
    const { code, ...answer } = await fapi.authorize(asked)
    const { status, body } = await fapi.exchange(code)
    expect([status, body.error]).toEqual([200, undefined])
    return { ...body, answer, claims: claimsOf(body.id_token) }
  }
  const isRefused = (reply: Reply, status: number, error: string): void =>
    expect([reply.status, reply.body.error]).toEqual([status, error])

  it('fapi2-security-profile-final-discovery-end-point-verification', async () => {
    const { body } = await fapi.site.get('/.well-known/openid-configuration')
    expect(body).toMatchObject({
      issuer: fapi.site.issuer,
      pushed_authorization_request_endpoint: `${fapi.site.issuer}/par`,
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
    })
    for (const [member, values] of [
      ['token_endpoint_auth_methods_supported', ['private_key_jwt']],
      ['token_endpoint_auth_signing_alg_values_supported', ['PS256', 'ES256', 'EdDSA']],
      ['dpop_signing_alg_values_supported', ['PS256', 'ES256', 'EdDSA']],
      ['id_token_signing_alg_values_supported', ['PS256']],
      ['grant_types_supported', ['authorization_code', 'refresh_token']],
    ] as const)
      expect(body[member], member).toEqual(expect.arrayContaining([...values]))
  })

  it('fapi2-security-profile-final-happy-flow', async () => {
    const pushed = await fapi.push()
    expect(pushed.status).toBe(201)
    expect(pushed.body.expires_in).toBeLessThan(600)
    const result = await tokens()
    expect(result.answer).toEqual({ state: 'a state', iss: fapi.site.issuer })
    expect(result.token_type).toBe('DPoP')
    expect(claimsOf(result.access_token)['cnf']).toEqual({ jkt: fapi.key.jkt })
    const { payload, protectedHeader } = await jwtVerify(
      result.id_token,
      createLocalJWKSet((await fapi.site.get('/.well-known/jwks.json')).body),
      { issuer: fapi.site.issuer, audience: 'client', currentDate: new Date(now) },
    )
    expect([protectedHeader.alg, payload['nonce']]).toEqual(['PS256', 'a nonce'])
    const { headers, body } = await fapi.userinfo(result.access_token)
    expect(body.sub).toBe(payload.sub)
    expect(headers.get('x-fapi-interaction-id')).toBe(interactionId)
    expect(headers.get('date')).not.toBeNull()
  })

  it('fapi2-security-profile-final-user-rejects-authentication', async () => {
    const { body } = await fapi.push({ prompt: 'consent' })
    const page = await fapi.alice.open(fapi.url(body.request_uri))
    const answer = answerOf(await fapi.alice.submit(page, { decision: 'deny' }))
    expect(answer).toMatchObject({
      error: 'access_denied',
      state: 'a state',
      iss: fapi.site.issuer,
    })
    expect(answer).not.toHaveProperty('code')
  })

  it('fapi2-security-profile-final-ensure-authorization-request-without-state-success', async () => {
    expect((await tokens({ state: undefined })).answer).toEqual({ iss: fapi.site.issuer })
  })

  it('fapi2-security-profile-final-ensure-authorization-request-without-nonce-success', async () => {
    expect((await tokens({ nonce: undefined })).claims).not.toHaveProperty('nonce')
  })

  it.each([
    ['fapi2-security-profile-final-ensure-authorization-request-with-64-char-nonce-success', 64],
    ['fapi2-security-profile-final-ensure-authorization-request-with-long-nonce', 384],
  ])('%s', async (_name, length) => {
    const nonce = 'n'.repeat(length)
    expect((await tokens({ nonce })).claims['nonce']).toBe(nonce)
  })

  it('fapi2-security-profile-final-ensure-authorization-request-with-long-state', async () => {
    const state = 's'.repeat(384)
    expect((await tokens({ state })).answer['state']).toBe(state)
  })

  it('fapi2-security-profile-final-ensure-other-scope-order-succeeds', async () => {
    const { scope } = await tokens({ scope: 'email profile openid' })
    expect(scope.split(' ').sort()).toEqual(['email', 'openid', 'profile'])
  })

  it('fapi2-security-profile-final-test-claims-parameter-identity-claims', async () => {
    const wanted = { preferred_username: { essential: true }, email: null }
    const claims = JSON.stringify({ id_token: wanted, userinfo: wanted })
    const expected = { preferred_username: 'alice', email: 'alice@acme.example' }
    const result = await tokens({ claims })
    expect(result.claims).toMatchObject(expected)
    expect((await fapi.userinfo(result.access_token)).body).toMatchObject(expected)
  })

  it('fapi2-security-profile-final-access-token-type-header-case-sensitivity', async () => {
    const { access_token } = await tokens()
    for (const scheme of ['dpop', 'DPOP', 'dPoP'])
      expect((await fapi.userinfo(access_token, { scheme })).status).toBe(200)
  })

  it('fapi2-security-profile-final-ensure-different-nonce-inside-and-outside-request-object', async () => {
    const { request_uri } = (await fapi.push({ nonce: 'inside' })).body
    const page = await fapi.alice.open(`${fapi.url(request_uri)}&nonce=outside`)
    const { body } = await fapi.exchange(codeOf(page))
    expect(claimsOf(body.id_token)['nonce']).toBe('inside')
  })

  it.each([
    [
      'fapi2-security-profile-final-ensure-different-state-inside-and-outside-request-object',
      'inside',
    ],
    ['fapi2-security-profile-final-state-only-outside-request-object-not-used', undefined],
  ])('%s', async (_name, state) => {
    const { request_uri } = (await fapi.push({ state })).body
    const page = await fapi.alice.open(`${fapi.url(request_uri)}&state=outside`)
    expect(answerOf(page)['state']).toBe(state)
  })

  it.each([
    ['ensure-request-object-without-redirect-uri-fails', { redirect_uri: undefined }],
    ['ensure-redirect-uri-in-authorization-request', { redirect_uri: undefined }],
    ['ensure-registered-redirect-uri', { redirect_uri: `${redirectUri}/unregistered` }],
    ['plain-fapi-tolerate-unregistered-redirect-uri', { redirect_uri: `${redirectUri}?dummy=1` }],
    ['par-authorization-request-containing-request_uri-form-param', { request_uri: 'urn:x' }],
    ['par-plain-pkce-rejected', { code_challenge_method: 'plain' }],
    ['par-ensure-pkce-required', { code_challenge: undefined, code_challenge_method: undefined }],
  ])('fapi2-security-profile-final-%s', async (_name, asked) => {
    isRefused(await fapi.push(asked), 400, 'invalid_request')
  })

  it.each([
    ['ensure-response-type-code-idtoken-fails', 'code id_token'],
    ['ensure-response-type-token-fails', 'token'],
  ])('fapi2-security-profile-final-%s', async (_name, response_type) => {
    isRefused(await fapi.push({ response_type }), 400, 'unsupported_response_type')
  })

  it('fapi2-security-profile-final-ensure-unsigned-authorization-request-without-using-par-fails', async () => {
    const page = await fapi.alice.open(authorizeUrl(fapi.site, fapi.client))
    expect(answerOf(page)).toMatchObject({ error: 'invalid_request', state: 'a state' })
  })

  it('fapi2-security-profile-final-ensure-client-id-in-token-endpoint', async () => {
    const { code } = await fapi.authorize()
    const { clientId } = fapi.client2
    const asTheOther = await fapi.assertion({ iss: clientId, sub: clientId }, { kid: clientId })
    const reply = await fapi.exchange(code, { client_id: clientId }, { assertion: asTheOther })
    isRefused(reply, 401, 'invalid_client')
    isRefused(await fapi.exchange(code, { client_id: clientId }), 400, 'invalid_request')
  })

  it('fapi2-security-profile-final-ensure-authorization-code-is-bound-to-client', async () => {
    const { code } = await fapi.authorize()
    isRefused(await fapi.exchange(code, {}, { by: fapi.client2 }), 400, 'invalid_grant')
  })

  it('fapi2-security-profile-final-attempt-reuse-authorization-code-after-one-second', async () => {
    const { code } = await fapi.authorize()
    const { access_token } = (await fapi.exchange(code)).body
    now += 1000
    isRefused(await fapi.exchange(code), 400, 'invalid_grant')
    expect((await fapi.userinfo(access_token)).status).toBe(401)
  })

  it('fapi2-security-profile-final-ensure-token-endpoint-fails-with-expired-auth-code', async () => {
    const { code } = await fapi.authorize()
    now += 61_000
    isRefused(await fapi.exchange(code), 400, 'invalid_grant')
  })

  it('fapi2-security-profile-final-ensure-signed-client-assertion-with-RS256-fails', async () => {
    const { code } = await fapi.authorize()
    // The client's own key, which it may use with PS256 alone.
    const { key } = fapi.client
    const privateKey = await importJWK(await exportJWK(key.privateKey), 'RS256')
    if (privateKey instanceof Uint8Array) throw new Error('a secret')
    const other = { clientId: 'client', key: { ...key, alg: 'RS256', privateKey } }
    const assertion = await fapi.assertion({}, {}, other)
    isRefused(await fapi.exchange(code, {}, { assertion }), 401, 'invalid_client')
  })

  it('fapi2-security-profile-final-ensure-client-assertion-in-token-endpoint', async () => {
    const { code } = await fapi.authorize()
    const without = { client_id: 'client', client_assertion_type: undefined }
    const reply = await fapi.exchange(code, without, { assertion: undefined })
    isRefused(reply, 401, 'invalid_client')
  })

  const wrongClaims = (): Record<string, Record<string, unknown>> => ({
    'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails': {
      iat: seconds() - 360,
      exp: seconds() - 300,
    },
    'ensure-client-assertion-with-wrong-aud-fails': { aud: 'https://other.example' },
    'ensure-client-assertion-with-no-sub-fails': { sub: undefined },
  })
  it.each(Object.keys(wrongClaims()))('fapi2-security-profile-final-%s', async (name) => {
    const { code } = await fapi.authorize()
    const assertion = await fapi.assertion(wrongClaims()[name])
    isRefused(await fapi.exchange(code, {}, { assertion }), 401, 'invalid_client')
  })

  it('fapi2-security-profile-final-refresh-token', async () => {
    const first = await tokens()
    const fields = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    const stolen = await fapi.send('/token', fields, { by: fapi.client2, key: fapi.key })
    isRefused(stolen, 400, 'invalid_grant')
    isRefused(await fapi.send('/token', fields), 400, 'invalid_request')
    const { status, body } = await fapi.send('/token', fields, { key: fapi.key })
    expect([status, body.token_type]).toEqual([200, 'DPoP'])
    expect((await fapi.userinfo(body.access_token)).status).toBe(200)
    // The realm rotates; a confidential client with bound tokens must not be made to (§5.3.2.1).
    expect(body.refresh_token ?? first.refresh_token).toBe(first.refresh_token)
    expect((await fapi.send('/token', fields, { key: fapi.key })).status).toBe(200)
  })

  it('fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds', async () => {
    const url = fapi.url((await fapi.push()).body.request_uri)
    const bob = newPerson(fapi.site)
    expect((await bob.open(url)).body).toContain('name="password"')
    codeOf(await bob.submit(await bob.open(url), { username: 'alice', password }))
  })

  it('fapi2-security-profile-final-par-attempt-reuse-request_uri', async () => {
    const url = fapi.url((await fapi.push()).body.request_uri)
    codeOf(await fapi.alice.open(url))
    const page = await fapi.alice.open(url)
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('fapi2-security-profile-final-par-attempt-to-use-expired-request_uri', async () => {
    const { request_uri, expires_in } = (await fapi.push()).body
    now += (expires_in + 1) * 1000
    const page = await fapi.alice.open(fapi.url(request_uri))
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client', async () => {
    const { request_uri } = (await fapi.push()).body
    const page = await fapi.alice.open(fapi.url(request_uri, fapi.client2))
    expect([page.status, page.away]).toEqual([400, undefined])
  })

  it('fapi2-security-profile-final-par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted', async () => {
    const times = { nbf: seconds() + 8, iat: seconds() + 8 }
    expect((await fapi.push({}, { assertion: await fapi.assertion(times) })).status).toBe(201)
  })

  const refusedAudiences = (): Record<string, Record<string, unknown>> => ({
    'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': {
      nbf: seconds() + 70,
      exp: seconds() + 120,
    },
    'par-test-array-as-audience-fails': { aud: [fapi.site.issuer] },
    'par-test-par-endpoint-url-as-audience-fails': { aud: `${fapi.site.issuer}/par` },
    'par-test-token-endpoint-url-as-audience-fails': { aud: `${fapi.site.issuer}/token` },
  })
  it.each([
    'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails',
    'par-test-array-as-audience-fails',
    'par-test-par-endpoint-url-as-audience-fails',
    'par-test-token-endpoint-url-as-audience-fails',
  ])('fapi2-security-profile-final-%s', async (name) => {
    const assertion = await fapi.assertion(refusedAudiences()[name])
    isRefused(await fapi.push({}, { assertion }), 401, 'invalid_client')
  })

  it('fapi2-security-profile-final-par-attempt-invalid-http-method', async () => {
    for (const method of ['GET', 'PUT']) {
      const { status } = await fetch(`${fapi.site.issuer}/par`, { method })
      expect(status).toBe(405)
    }
  })

  it('fapi2-security-profile-final-par-without-duplicate-parameters', async () => {
    const url = fapi.url((await fapi.push()).body.request_uri)
    expect([...new URL(url).searchParams.keys()]).toEqual(['client_id', 'request_uri'])
    const { body } = await fapi.exchange(codeOf(await fapi.alice.open(url)))
    expect(body.token_type).toBe('DPoP')
  })

  it.each([
    ['ensure-pkce-code-verifier-required', undefined],
    ['incorrect-pkce-code-verifier-rejected', 'v'.repeat(43)],
  ])('fapi2-security-profile-final-%s', async (_name, code_verifier) => {
    const { code } = await fapi.authorize()
    isRefused(await fapi.exchange(code, { code_verifier }), 400, 'invalid_grant')
  })
})
