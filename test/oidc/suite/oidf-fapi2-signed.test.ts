/**
 * The modules that the FAPI 2 message signing plan (final) has beside those of the security profile: request objects that
 * are pushed, each module under its own name. Those of ConnectID Australia are left out.
 */

import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import type { Reply } from '../fixture.ts'
import { authorizeUrl, codeOf, redirectUri } from '../relying-party.ts'
import { type Fapi, makeKey, openFapi } from './oidf.ts'

describe.each(anyBackend)('fapi2-message-signing-final-test-plan on $name', (backend) => {
  const now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = Math.floor(now / 1000)
  let fapi: Fapi

  beforeAll(async () => {
    fapi = await openFapi(backend, clock, 'fapi-2-message-signing')
  }, 60_000)
  afterAll(() => fapi.close())

  const claims = (): Record<string, unknown> => ({
    iss: 'client',
    aud: fapi.site.issuer,
    client_id: 'client',
    jti: newId(),
    nbf: seconds,
    exp: seconds + 300,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    state: 'a state',
    code_challenge: fapi.challenge,
    code_challenge_method: 'S256',
  })
  const sign = (more: Record<string, unknown> = {}, by = fapi.client.key, header: object = {}) =>
    new SignJWT({ ...claims(), ...more })
      .setProtectedHeader({ alg: by.alg, kid: 'client', typ: 'oauth-authz-req+jwt', ...header })
      .sign(by.privateKey)
  const push = (request: string): Promise<Reply> => fapi.send('/par', { request })

  it.each<[string, () => Record<string, unknown>]>([
    [
      'ensure-request-object-with-multiple-aud-succeeds',
      () => ({ aud: [fapi.site.issuer, 'https://other.example'] }),
    ],
    [
      'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
      () => ({ nbf: seconds + 8 }),
    ],
  ])('fapi2-security-profile-final-%s', async (_name, more) => {
    const { status, body } = await push(await sign(more()))
    expect(status).toBe(201)
    const code = codeOf(await fapi.alice.open(fapi.url(body.request_uri)))
    expect((await fapi.exchange(code)).body.token_type).toBe('DPoP')
  })

  it.each<[string, () => Record<string, unknown>]>([
    ['ensure-request-object-without-exp-fails', () => ({ exp: undefined })],
    ['ensure-request-object-without-nbf-fails', () => ({ nbf: undefined })],
    ['ensure-expired-request-object-fails', () => ({ exp: seconds - 300, nbf: seconds - 600 })],
    ['ensure-request-object-with-bad-aud-fails', () => ({ aud: 'https://other.example' })],
    ['ensure-request-object-with-exp-over-60-fails', () => ({ exp: seconds + 4200 })],
    ['ensure-request-object-with-nbf-over-60-fails', () => ({ nbf: seconds - 4200 })],
  ])('fapi2-security-profile-final-%s', async (_name, more) => {
    const { status, body } = await push(await sign(more()))
    expect([status, body.error]).toEqual([400, 'invalid_request_object'])
  })

  it('fapi2-security-profile-final-ensure-signed-request-object-with-RS256-fails', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256')
    const { body: found } = await fapi.site.admin('GET', '/clients/client')
    const before = found.jwks
    const own = { ...(await exportJWK(publicKey)), kid: 'rs' }
    await fapi.site.admin('PUT', `/clients/${found.id}`, {
      ...found,
      jwks: { keys: [...before.keys, own] },
    })
    const key = { ...fapi.client.key, alg: 'RS256', privateKey }
    const { status, body } = await push(await sign({}, key, { kid: 'rs' }))
    expect([status, body.error]).toEqual([400, 'invalid_request_object'])
    const assertion = await fapi.assertion({}, { kid: 'rs' }, { clientId: 'client', key })
    const refused = await fapi.send('/par', { request: await sign() }, { assertion })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client'])
  })

  it('fapi2-security-profile-final-ensure-request-object-signature-algorithm-is-not-none', async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const { status, body } = await push(`${encode({ alg: 'none' })}.${encode(claims())}.`)
    expect([status, body.error]).toEqual([400, 'invalid_request_object'])
  })

  it.each([
    'ensure-request-object-with-invalid-signature-fails',
    'ensure-matching-key-in-authorization-request',
  ])('fapi2-security-profile-final-%s', async () => {
    const { status, body } = await push(await sign({}, await makeKey('PS256')))
    expect([status, body.error]).toEqual([400, 'invalid_request_object'])
  })

  it('fapi2-security-profile-final-ensure-unsigned-request-at-par-endpoint-fails', async () => {
    const { status, body } = await fapi.push()
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  it('fapi2-security-profile-final-ensure-unsigned-authorization-request-without-using-par-fails', async () => {
    const page = await fapi.alice.open(authorizeUrl(fapi.site, { clientId: 'client' }))
    expect(new URL(page.away ?? '').searchParams.get('error')).toBe('invalid_request')
  })

  it('fapi2-security-profile-final-par-authorization-request-containing-request_uri', async () => {
    const { body: first } = await push(await sign())
    const { status, body } = await push(await sign({ request_uri: first.request_uri }))
    expect([status, body.error]).toEqual([400, 'invalid_request_object'])
  })
})
