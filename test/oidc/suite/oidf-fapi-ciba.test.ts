/**
 * The modules of the FAPI-CIBA plan (implementer's draft 1) with private_key_jwt, each under its own name, for a client of
 * the profile fapi-2-message-signing. Tokens are bound by DPoP: the modules about mutual TLS are left out, and those of
 * ConnectID Australia and Open Finance Brazil.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { anyBackend } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { claimsOf, type Reply } from '../fixture.ts'
import { hiddenFields } from '../relying-party.ts'
import {
  type Fapi,
  type FapiClient,
  interactionId,
  type Key,
  makeKey,
  openFapi,
  type Sending,
} from './oidf.ts'

const grantType = 'urn:openid:params:grant-type:ciba'
const endpoint = '/backchannel-authentication'
const rsaId = 'rsa'

interface Peer {
  readonly url: string
  readonly authorizations: (string | undefined)[]
  /** Of the next notification. */
  answer: { status: number; body?: string; location?: string }
  close(): void
}

/** The notification endpoint of a client in ping mode. */
const openPeer = async (): Promise<Peer> => {
  const authorizations: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    await request.toArray()
    authorizations.push(request.headers.authorization)
    const { status, body = '', location } = peer.answer
    response.writeHead(status, location === undefined ? {} : { location }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const peer: Peer = {
    url: `http://127.0.0.1:${port}/notified`,
    authorizations,
    answer: { status: 204 },
    close: () => server.close(),
  }
  return peer
}

describe.each(anyBackend)('fapi-ciba-id1-test-plan on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  const seconds = () => Math.floor(now / 1000)
  const minutes = (count: number) => seconds() + 60 * count
  let fapi: Fapi
  let peer: Peer
  let bank: FapiClient
  let pinged: FapiClient
  let rsa: Key

  const addClient = async (clientId: string, more: object = {}): Promise<FapiClient> => {
    const key = await makeKey('PS256')
    await fapi.site.client({
      clientId,
      grantTypes: ['CIBA', 'refresh_token'],
      scopes: ['profile', 'email'],
      tokenEndpointAuthMethod: 'private_key_jwt',
      jwks: {
        keys: [
          { ...key.jwk, kid: clientId, alg: 'PS256', use: 'sig' },
          { ...rsa.jwk, kid: rsaId, alg: 'RS256', use: 'sig' },
        ],
      },
      profile: 'fapi-2-message-signing',
      ...more,
    })
    return { clientId, key }
  }

  beforeAll(async () => {
    peer = await openPeer()
    fapi = await openFapi(backend, clock, 'fapi-2-message-signing', {
      IAMCTL_OUTGOING_ALLOW: '127.0.0.1',
      IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
    })
    const { privateKey, publicKey } = await generateKeyPair('RS256')
    rsa = { alg: 'RS256', privateKey, jwk: await exportJWK(publicKey), jkt: '' }
    bank = await addClient('bank')
    pinged = await addClient('pinged', {
      backchannelTokenDeliveryMode: 'ping',
      backchannelClientNotificationEndpoint: peer.url,
    })
  }, 60_000)
  afterAll(async () => {
    await fapi.close()
    peer.close()
  })

  const claims = ({ clientId }: FapiClient): Record<string, unknown> => ({
    iss: clientId,
    aud: fapi.site.issuer,
    jti: newId(),
    iat: seconds(),
    nbf: seconds(),
    exp: seconds() + 300,
    scope: 'openid',
    login_hint: 'alice',
  })
  const sign = (
    more: Record<string, unknown> = {},
    by: FapiClient = bank,
    header: Readonly<Record<string, string>> = {},
  ) =>
    new SignJWT({ ...claims(by), ...more })
      .setProtectedHeader({ alg: by.key.alg, kid: by.clientId, ...header })
      .sign(by.key.privateKey)
  const begin = async (
    more: Record<string, unknown> = {},
    sending: Sending = {},
  ): Promise<Reply> => {
    const { by = bank } = sending
    return fapi.send(endpoint, { request: await sign(more, by) }, { by, ...sending })
  }
  const ask = (id: string, sending: Sending = {}): Promise<Reply> =>
    fapi.send(
      '/token',
      { grant_type: grantType, auth_req_id: id },
      { by: bank, key: fapi.key, ...sending },
    )
  /** A request that the user has decided on. */
  const decided = async (
    decision: 'allow' | 'deny' = 'allow',
    more: Record<string, unknown> = {},
    by: FapiClient = bank,
  ): Promise<string> => {
    const binding_message = `message ${newId().slice(-8)}`
    const started = await begin({ binding_message, ...more }, { by })
    expect([started.status, started.body.error]).toEqual([200, undefined])
    const approvals = `${fapi.site.issuer}/approvals`
    const page = await fapi.alice.open(approvals)
    const shown = String(more['binding_message'] ?? binding_message)
    const section = page.body.split('<article').find((text) => text.includes(shown)) ?? ''
    await fapi.alice.open(approvals, { ...hiddenFields(section), decision })
    return started.body.auth_req_id
  }
  const isRefused = (reply: Reply, status: number, error: string): void =>
    expect([reply.status, reply.body.error]).toEqual([status, error])

  it('fapi-ciba-id1-discovery-end-point-verification', async () => {
    const { body } = await fapi.site.get('/.well-known/openid-configuration')
    expect(body).toMatchObject({
      backchannel_authentication_endpoint: `${fapi.site.issuer}${endpoint}`,
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_user_code_parameter_supported: false,
    })
    expect(body.grant_types_supported).toContain(grantType)
    for (const member of [
      'backchannel_authentication_request_signing_alg_values_supported',
      'token_endpoint_auth_signing_alg_values_supported',
    ])
      expect(body[member], member).toEqual(expect.arrayContaining(['PS256', 'ES256']))
  })

  it('fapi-ciba-id1', async () => {
    const pending = await begin()
    expect(pending.body).toMatchObject({
      auth_req_id: expect.any(String),
      expires_in: 300,
      interval: 5,
    })
    isRefused(await ask(pending.body.auth_req_id), 400, 'authorization_pending')
    const id = await decided()
    const { status, body } = await ask(id)
    expect([status, body.token_type]).toEqual([200, 'DPoP'])
    expect(claimsOf(body.access_token)['cnf']).toEqual({ jkt: fapi.key.jkt })
    const idToken = claimsOf(body.id_token)
    expect(idToken).toMatchObject({ iss: fapi.site.issuer, aud: 'bank' })
    const told = await fapi.userinfo(body.access_token)
    expect(told.body.sub).toBe(idToken['sub'])
    expect(told.headers.get('x-fapi-interaction-id')).toBe(interactionId)
  })

  it('fapi-ciba-id1, second client: its requests have the type of request objects', async () => {
    const request = await sign({}, bank, { typ: 'OautH-auThZ-REQ+jWt' })
    const { status, body } = await fapi.send(endpoint, { request }, { by: bank })
    expect([status, body.error]).toEqual([200, undefined])
    const odd = await sign({}, bank, { typ: 'client-authentication+jwt' })
    isRefused(await fapi.send(endpoint, { request: odd }, { by: bank }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-user-rejects-authentication', async () => {
    isRefused(await ask(await decided('deny')), 400, 'access_denied')
  })

  it('fapi-ciba-id1-multiple-call-to-token-endpoint', async () => {
    const id = await decided()
    expect((await ask(id)).status).toBe(200)
    isRefused(await ask(id), 400, 'invalid_grant')
  })

  it('fapi-ciba-id1-auth-req-id-expired', async () => {
    const { body } = await begin({ requested_expiry: 30 })
    now += 31_000
    isRefused(await ask(body.auth_req_id), 400, 'expired_token')
  })

  it('fapi-ciba-id1-refresh-token', async () => {
    const { body } = await ask(await decided())
    const refresh = (by: FapiClient): Promise<Reply> =>
      fapi.send(
        '/token',
        { grant_type: 'refresh_token', refresh_token: body.refresh_token },
        { by, key: fapi.key },
      )
    isRefused(await refresh(pinged), 400, 'invalid_grant')
    const again = await refresh(bank)
    expect([again.status, again.body.token_type]).toEqual([200, 'DPoP'])
    if (again.body.id_token !== undefined)
      expect(claimsOf(again.body.id_token)['sub']).toBe(claimsOf(body.id_token)['sub'])
  })

  it('fapi-ciba-id1-ensure-authorization-request-with-binding-message-succeeds', async () => {
    expect((await ask(await decided('allow', { binding_message: '1234' }))).status).toBe(200)
  })

  it('fapi-ciba-id1-ensure-authorization-request-with-potentially-bad-binding-message', async () => {
    const odd = '1234 \u{1F44D}\u{1F3FF} 品川 Lor'
    const { status, body } = await begin({ binding_message: odd })
    expect(status === 200 || body.error === 'invalid_binding_message').toBe(true)
    isRefused(await begin({ binding_message: 'x'.repeat(65) }), 400, 'invalid_binding_message')
  })

  it('fapi-ciba-id1-ensure-authorization-request-with-multiple-hints-fails', async () => {
    const { body } = await ask(await decided())
    isRefused(await begin({ id_token_hint: body.id_token }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-ensure-other-scope-order-succeeds', async () => {
    const { body } = await ask(await decided('allow', { scope: 'email profile openid' }))
    expect(body.scope.split(' ').sort()).toEqual(['email', 'openid', 'profile'])
  })

  it('fapi-ciba-id1-ensure-requested-expiry-as-string-succeeds', async () => {
    const { status, body } = await begin({ requested_expiry: '120' })
    expect([status, body.expires_in]).toEqual([200, 120])
  })

  it.each<[string, () => Record<string, unknown>]>([
    ['missing-aud', () => ({ aud: undefined })],
    ['bad-aud', () => ({ aud: 'https://other.example' })],
    ['missing-iss', () => ({ iss: undefined })],
    ['bad-iss', () => ({ iss: 'other' })],
    ['missing-exp', () => ({ exp: undefined })],
    ['expired-exp', () => ({ exp: minutes(-5), nbf: minutes(-10) })],
    ['exp-is-70-minutes-in-future', () => ({ exp: minutes(70) })],
    ['missing-iat', () => ({ iat: undefined })],
    ['missing-nbf', () => ({ nbf: undefined })],
    ['nbf-is-10-minutes-in-future', () => ({ nbf: minutes(10), exp: minutes(15) })],
    ['nbf-is-70-minutes-in-past', () => ({ nbf: minutes(-70) })],
    ['missing-jti', () => ({ jti: undefined })],
  ])('fapi-ciba-id1-ensure-request-object-%s-fails', async (_name, more) => {
    isRefused(await begin(more()), 400, 'invalid_request')
  })

  it.each(['bad', 'RS256'])(
    'fapi-ciba-id1-ensure-request-object-signature-algorithm-is-%s-fails',
    async (name) => {
      const by = name === 'bad' ? { ...bank, key: await makeKey('PS256') } : { ...bank, key: rsa }
      const request = await sign({}, by, name === 'bad' ? {} : { kid: rsaId })
      isRefused(await fapi.send(endpoint, { request }, { by: bank }), 400, 'invalid_request')
    },
  )

  it('fapi-ciba-id1-ensure-request-object-signature-algorithm-is-none-fails', async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const request = `${encode({ alg: 'none' })}.${encode(claims(bank))}.`
    isRefused(await fapi.send(endpoint, { request }, { by: bank }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-ensure-request-object-signed-by-other-client-fails', async () => {
    const request = await sign({ iss: 'bank' }, pinged)
    isRefused(await fapi.send(endpoint, { request }, { by: bank }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-ensure-unsigned-backchannel-authorization-request-fails', async () => {
    const unsigned = { scope: 'openid', login_hint: 'alice' }
    isRefused(await fapi.send(endpoint, unsigned, { by: bank }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-ensure-different-client-id-and-issuer-in-backchannel-authorization-request', async () => {
    const request = await sign({ iss: 'pinged', client_id: 'bank' })
    isRefused(await fapi.send(endpoint, { request }, { by: bank }), 400, 'invalid_request')
  })

  it('fapi-ciba-id1-ensure-wrong-client-id-in-backchannel-authorization-request', async () => {
    const request = await sign()
    const sent = await fapi.send(endpoint, { request, client_id: 'pinged' }, { by: bank })
    expect(['invalid_request', 'invalid_client']).toContain(sent.body.error)
  })

  it('fapi-ciba-id1-ensure-wrong-auth-req-id-in-token-endpoint-request', async () => {
    isRefused(await ask(newId()), 400, 'invalid_grant')
  })

  it('fapi-ciba-id1-ensure-wrong-client-id-in-token-endpoint-request', async () => {
    const id = await decided()
    isRefused(await ask(id, { by: pinged }), 400, 'invalid_grant')
    const sent = await fapi.send(
      '/token',
      { grant_type: grantType, auth_req_id: id, client_id: 'pinged' },
      { by: bank, key: fapi.key },
    )
    expect(['invalid_request', 'invalid_client']).toContain(sent.body.error)
  })

  it('fapi-ciba-id1-ensure-without-client-assertion-in-backchannel-authorization-request', async () => {
    isRefused(await begin({}, { assertion: undefined }), 401, 'invalid_client')
  })

  it('fapi-ciba-id1-ensure-without-client-assertion-in-token-endpoint-request', async () => {
    isRefused(await ask(await decided(), { assertion: undefined }), 401, 'invalid_client')
  })

  it.each(['backchannel-authorization', 'token-endpoint'])(
    'fapi-ciba-id1-ensure-client-assertion-signature-algorithm-in-%s-request-is-RS256-fails',
    async (place) => {
      const assertion = await fapi.assertion({}, { kid: rsaId }, { ...bank, key: rsa })
      const reply =
        place === 'token-endpoint'
          ? await ask(await decided(), { assertion })
          : await begin({}, { assertion })
      isRefused(reply, 401, 'invalid_client')
    },
  )

  it('fapi-ciba-id1-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds', async () => {
    expect(claimsOf(await fapi.assertion({}, {}, bank))['aud']).toBe(fapi.site.issuer)
    expect((await ask(await decided())).status).toBe(200)
  })

  it.each<[string, Peer['answer']]>([
    ['response-401', { status: 401 }],
    ['response-403', { status: 403 }],
    ['response-has-body', { status: 200, body: '{"taken":true}' }],
    ['return-redirect-request', { status: 302, location: '/elsewhere' }],
  ])('fapi-ciba-id1-ping-backchannel-notification-endpoint-%s', async (_name, answer) => {
    peer.answer = answer
    const before = peer.authorizations.length
    const client_notification_token = `token-${newId()}`
    const id = await decided('allow', { client_notification_token }, pinged)
    const { jobs, oidc } = fapi.site.server.areas
    await runJobs(jobs, oidc.pings)
    // A redirect is not followed, and a refusal does not take the approval back.
    expect(peer.authorizations.slice(before)).toEqual([`Bearer ${client_notification_token}`])
    expect((await ask(id, { by: pinged })).status).toBe(200)
  })
})
