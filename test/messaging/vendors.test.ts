/** Gateways, Twilio, Firebase and Apple, as real servers on 127.0.0.1: order of attempts, and reports. */

import { generateKeyPairSync } from 'node:crypto'
import { jwtVerify } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Messaging, type Outcome, openMessaging } from '#server/messaging/sender.ts'
import { createLogger } from '#server/platform/logger.ts'
import { createOutgoing } from '#server/platform/outgoing/client.ts'
import { backends } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import { removeProviders } from './providers.ts'
import { startHttp2Peer, startHttpsPeer, type VendorPeer, vendorHost } from './vendor-peers.ts'

const [backend] = backends
if (!backend) throw new Error('there is no backend')

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = ({ privateKey }: typeof rsa): string =>
  String(privateKey.export({ type: 'pkcs8', format: 'pem' }))

let server: TestServer
let https: VendorPeer
let http2: VendorPeer
let messaging: Messaging
const realm = 'vendors'
let now = Date.now()
const log: string[] = []

const put = async (provider: object): Promise<Answer> => {
  const answer = await server.admin.send(
    'PUT',
    `/admin/realms/${realm}/messaging/providers`,
    provider,
  )
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer
}
const url = (path = '/'): string => `https://${vendorHost}:${https.port}${path}`

const send = async (channel: 'EMAIL' | 'SMS' | 'PUSH', more: object = {}): Promise<Outcome> => {
  const view = await server.areas.copy.fresh(realm)
  if (!view) throw new Error('no realm')
  return messaging.send({
    view,
    channel,
    templateKey: { EMAIL: 'otp-email', SMS: 'otp-sms', PUSH: 'mfa-push' }[channel],
    to: { EMAIL: 'alice@customer.example', SMS: '+31612345678', PUSH: 'device-token-0123456789' }[
      channel
    ],
    user: { username: 'alice' },
    values: { code: '123456', ttl: '5' },
    ...more,
  })
}

beforeAll(async () => {
  server = await startServer(backend)
  await server.createRealm(realm)
  https = await startHttpsPeer()
  http2 = await startHttp2Peer()
  messaging = openMessaging({
    outgoing: createOutgoing({
      allowPrivate: [vendorHost],
      ca: [https.ca],
      timeoutMs: 3000,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    }),
    clock: { now: () => now },
    logger: createLogger({ destination: { write: (line) => void log.push(line) } }),
    reveal: server.areas.secrets.vault.reveal,
    logMessages: false,
  })
})
beforeEach(async () => {
  await removeProviders(server, realm)
  for (const peer of [https, http2]) {
    peer.received.length = 0
    peer.answer = () => ({ status: 200, body: '{}' })
  }
  log.length = 0
})
afterAll(async () => {
  messaging.close()
  await server.close()
  await https.close()
  await http2.close()
})

describe('a gateway', () => {
  const secret = 'the-key-of-the-gateway'
  const nasty = 'a","to":"evil@evil.example"&to=evil\n<to>evil</to>{{text}}$&\\'

  it('gets the message as JSON, with its secret in a header and nowhere else', async () => {
    https.answer = () => ({ status: 202, body: '{"id":"m-1"}' })
    await put({
      channel: 'SMS',
      driver: 'http',
      fromAddress: 'Acme',
      config: { url: url('/sms') },
      secret,
    })
    expect(await send('SMS')).toEqual({ status: 'sent', driver: 'http', messageId: 'm-1' })
    const [request] = https.received
    expect(request).toMatchObject({
      path: '/sms',
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    })
    expect(JSON.parse(request?.body ?? '')).toEqual({
      to: '+31612345678',
      from: 'Acme',
      fromName: '',
      subject: '',
      text: `123456 is your code for ${realm}. It is valid for 5 minutes.`,
      html: '',
    })
    expect(request?.body).not.toContain(secret)
  })

  it.each([
    [
      'application/json',
      '{"messages":[{"to":"{{to}}","text":"<{{text}}>"}],"flag":true}',
      (body: string) => JSON.parse(body),
      { messages: [{ to: '+31612345678', text: `<${nasty}>` }], flag: true },
    ],
    [
      'application/x-www-form-urlencoded',
      'to={{to}}&text={{text}}&fixed=a%26b',
      (body: string) => Object.fromEntries(new URLSearchParams(body)),
      { to: '+31612345678', text: nasty, fixed: 'a&b' },
    ],
    [
      'text/xml; charset=utf-8',
      '<sms to="{{to}}">{{text}}</sms>',
      (body: string) => body,
      `<sms to="+31612345678">${nasty
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')}</sms>`,
    ],
  ])(
    'gets %s in which every value stays in its place',
    async (contentType, bodyTemplate, read, expected) => {
      const config = { url: url(), method: 'PUT', contentType, bodyTemplate }
      const more = { authHeader: 'X-Api-Key', headers: { 'X-Tenant': 'acme' } }
      await put({ channel: 'SMS', driver: 'http', config: { ...config, ...more }, secret })
      await server.admin.send('PUT', `/admin/realms/${realm}/messaging/templates`, {
        templateKey: 'own',
        channel: 'SMS',
        body: '{{code}}',
      })
      await send('SMS', { templateKey: 'own', values: { code: nasty } })
      const [request] = https.received
      expect(request).toMatchObject({
        method: 'PUT',
        headers: { 'x-api-key': secret, 'x-tenant': 'acme', 'content-type': contentType },
      })
      expect(read(request?.body ?? '')).toEqual(expected)
    },
  )

  it.each([
    [302, false],
    [400, false],
    [401, false],
    [408, true],
    [429, true],
    [500, true],
    [503, true],
  ])(
    'that answers %i makes an error, which is worth another attempt: %s',
    async (status, retryable) => {
      https.answer = () => ({ status, headers: { location: url('/other') }, body: `"${secret}"` })
      await put({ channel: 'SMS', driver: 'http', config: { url: url() }, secret })
      await expect(send('SMS')).rejects.toMatchObject({
        reason: `SMS/http: the gateway answered ${status}`,
        retryable,
      })
      expect(https.received.map(({ path }) => path)).toEqual(['/'])
    },
  )
})

describe('providers of one channel', () => {
  it('are tried by priority, and the next one where one fails; nothing tells secrets or recipients', async () => {
    const secret = 'the-key-of-a-gateway'
    https.answer = ({ path }) => ({ status: path === '/sms' ? 500 : 201, body: '{"sid":"SM1"}' })
    const http = { channel: 'SMS', driver: 'http', config: { url: url('/sms') }, secret }
    const twilio = {
      channel: 'SMS',
      driver: 'twilio',
      fromAddress: '+15005550006',
      config: { accountSid: 'AC1', url: url() },
      secret,
    }
    await put({ ...http, priority: 1 })
    await put({ ...twilio, priority: 2 })
    expect(await send('SMS')).toEqual({ status: 'sent', driver: 'twilio', messageId: 'SM1' })
    expect(https.received.map(({ path }) => path)).toEqual([
      '/sms',
      '/2010-04-01/Accounts/AC1/Messages.json',
    ])
    await put({ ...http, priority: 3 })
    https.received.length = 0
    expect(await send('SMS')).toMatchObject({ driver: 'twilio' })
    expect(https.received).toHaveLength(1)

    https.answer = () => ({ status: 503, body: secret })
    const failed = await send('SMS').catch((error: unknown) => error)
    expect(failed).toMatchObject({
      name: 'DeliveryError',
      retryable: true,
      reason: 'SMS/twilio: Twilio answered 503; SMS/http: the gateway answered 503',
    })
    expect(log.join('')).toContain('"to":"…78"')
    for (const told of [log.join(''), String(failed)])
      for (const hidden of [secret, '31612345678', '123456']) expect(told).not.toContain(hidden)
  })

  it('that lack something are passed over', async () => {
    await put({ channel: 'SMS', driver: 'twilio', config: { accountSid: 'AC1', url: url() } })
    expect(await send('SMS')).toEqual({
      status: 'inert',
      reason: 'SMS/twilio has no fromAddress',
    })
    await put({ channel: 'SMS', driver: 'http', priority: 9, config: { url: url() } })
    expect(await send('SMS')).toMatchObject({ status: 'sent', driver: 'http' })
  })
})

describe('Twilio', () => {
  it('gets a form, signed in with the account or an API key, and its error numbers are told', async () => {
    const config = { accountSid: 'AC1', username: 'SK1', url: url() }
    const service = `MG${'0'.repeat(32)}`
    await put({ channel: 'SMS', driver: 'twilio', fromAddress: service, config, secret: 'token' })
    https.answer = () => ({ status: 201, body: '{"sid":"SM42"}' })
    expect(await send('SMS')).toMatchObject({ messageId: 'SM42' })
    const [request] = https.received
    const basic = `Basic ${Buffer.from('SK1:token').toString('base64')}`
    expect(request?.headers.authorization).toBe(basic)
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      To: '+31612345678',
      MessagingServiceSid: service,
      Body: `123456 is your code for ${realm}. It is valid for 5 minutes.`,
    })
    https.answer = () => ({ status: 400, body: '{"code":21211,"message":"+31612345678 is wrong"}' })
    await expect(send('SMS')).rejects.toMatchObject({
      reason: 'SMS/twilio: Twilio answered 400, error 21211',
      retryable: false,
    })
  })
})

describe('Firebase', () => {
  const account = (more: object = {}): string =>
    JSON.stringify({
      client_email: 'push@acme.example',
      private_key: pem(rsa),
      token_uri: url('/token'),
      ...more,
    })
  const fcm = (secret: string): object => ({
    channel: 'PUSH',
    driver: 'fcm',
    config: { projectId: 'acme-app', url: url() },
    secret,
  })
  const google = (status = 200, body = '{"name":"projects/acme-app/messages/1"}') => {
    https.answer = ({ path }) =>
      path === '/token'
        ? { status: 200, body: '{"access_token":"at-1","expires_in":3600}' }
        : { status, body }
  }

  it('gives a token for a signed assertion, which is used until shortly before its end', async () => {
    google()
    await put(fcm(account()))
    const data = { pushId: 'p-1' }
    expect(await send('PUSH', { data })).toEqual({
      status: 'sent',
      driver: 'fcm',
      messageId: 'projects/acme-app/messages/1',
    })
    const [bought, sent] = https.received
    const form = new URLSearchParams(bought?.body)
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    const { payload } = await jwtVerify(form.get('assertion') ?? '', rsa.publicKey, {
      issuer: 'push@acme.example',
      audience: url('/token'),
      algorithms: ['RS256'],
      currentDate: new Date(now),
    })
    expect(payload['scope']).toBe('https://www.googleapis.com/auth/firebase.messaging')
    expect(sent).toMatchObject({
      path: '/v1/projects/acme-app/messages:send',
      headers: { authorization: 'Bearer at-1' },
    })
    expect(JSON.parse(sent?.body ?? '').message).toEqual({
      token: 'device-token-0123456789',
      notification: { title: realm, body: `Is it you who is signing in to ${realm}?` },
      data,
      android: { priority: 'HIGH' },
    })
    await Promise.all([send('PUSH'), send('PUSH')])
    const bought2 = () => https.received.filter(({ path }) => path === '/token').length
    expect(bought2()).toBe(1)
    now += 3_550_000
    await send('PUSH')
    expect(bought2()).toBe(2)
  })

  it('tells that a device is gone, and buys a new token when the old one is refused', async () => {
    google(404, '{"error":{"status":"NOT_FOUND"}}')
    await put(fcm(account()))
    await expect(send('PUSH')).rejects.toMatchObject({
      reason: 'PUSH/fcm: Firebase answered 404 NOT_FOUND',
      gone: true,
      retryable: false,
    })
    google(401)
    await expect(send('PUSH')).rejects.toMatchObject({ retryable: true })
    google()
    await send('PUSH')
    expect(https.received.filter(({ path }) => path === '/token')).toHaveLength(2)
  })

  it('is not looked for inside of the network', async () => {
    google()
    const inside = { projectId: 'p', url: `https://127.0.0.1:${https.port}` }
    await put({ channel: 'PUSH', driver: 'fcm', config: inside, secret: account() })
    await expect(send('PUSH')).rejects.toThrow('a loopback address is not allowed')
    expect(https.received.map(({ path }) => path)).toEqual(['/token'])
  })

  it.each([
    ['no JSON', 'not the JSON of a service account'],
    ['null', 'not the JSON of a service account'],
    ['{}', 'not the JSON of a service account'],
    ['{"client_email":"a","private_key":"b"}', 'private key of the service account'],
  ])('is not asked with the account %s', async (secret, reason) => {
    await put(fcm(secret))
    await expect(send('PUSH')).rejects.toThrow(reason)
    expect(https.received).toEqual([])
  })
})

describe('Apple', () => {
  const apns = (more: object = {}): object => ({
    channel: 'PUSH',
    driver: 'apns',
    config: {
      keyId: 'KEY1234567',
      teamId: 'TEAM123456',
      topic: 'example.acme.app',
      url: `https://${vendorHost}:${http2.port}`,
      ca: http2.ca,
    },
    secret: pem(ec),
    ...more,
  })

  it('gets a message over HTTP/2 with a token that its key verifies, on one connection', async () => {
    const id = '0199a1b2-0000-7000-8000-00000000000a'
    http2.answer = ({ headers }) => ({
      status: 200,
      headers: { 'apns-id': String(headers['apns-id']) },
    })
    await put(apns())
    expect(await send('PUSH', { id, data: { pushId: 'p-1', aps: 'x' } })).toEqual({
      status: 'sent',
      driver: 'apns',
      messageId: id,
    })
    const [request] = http2.received
    expect(request).toMatchObject({
      path: '/3/device/device-token-0123456789',
      method: 'POST',
      headers: { 'apns-topic': 'example.acme.app', 'apns-push-type': 'alert', 'apns-id': id },
    })
    expect(JSON.parse(request?.body ?? '')).toEqual({
      pushId: 'p-1',
      aps: {
        alert: { title: realm, body: `Is it you who is signing in to ${realm}?` },
        sound: 'default',
      },
    })
    const tokens = () => http2.received.map(({ headers }) => String(headers.authorization).slice(7))
    const { payload, protectedHeader } = await jwtVerify(tokens()[0] ?? '', ec.publicKey, {
      algorithms: ['ES256'],
    })
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'KEY1234567' })
    expect(payload).toEqual({ iss: 'TEAM123456', iat: Math.floor(now / 1000) })

    await Promise.all([send('PUSH'), send('PUSH'), send('PUSH')])
    expect(http2.connections()).toBe(1)
    expect(new Set(tokens()).size).toBe(1)
    now += 45 * 60_000
    await send('PUSH')
    expect(new Set(tokens()).size).toBe(2)
  })

  it.each([
    [410, 'Unregistered', { gone: true, retryable: false }],
    [400, 'BadDeviceToken', { gone: true, retryable: false }],
    [403, 'InvalidProviderToken', { gone: false, retryable: false }],
    [403, 'ExpiredProviderToken', { gone: false, retryable: true }],
    [429, 'TooManyRequests', { gone: false, retryable: true }],
    [503, 'ServiceUnavailable', { gone: false, retryable: true }],
  ])('that answers %i %s is understood', async (status, reason, expected) => {
    http2.answer = () => ({ status, body: JSON.stringify({ reason }) })
    await put(apns())
    await expect(send('PUSH')).rejects.toMatchObject({
      ...expected,
      reason: `PUSH/apns: Apple answered ${status} ${reason}`,
    })
  })

  it('is not believed with a certificate that nobody vouches for', async () => {
    const config = {
      keyId: 'K',
      teamId: 'T',
      topic: 'a.b',
      url: `https://${vendorHost}:${http2.port}`,
    }
    await put(apns({ config }))
    await expect(send('PUSH')).rejects.toThrow(`${vendorHost}: no trusted TLS connection`)
    await put(apns({ secret: 'no key' }))
    await expect(send('PUSH')).rejects.toThrow('not a key of Apple')
    expect(http2.received).toEqual([])
  })

  it('only gets the tokens of its own devices, where the driver of a device is known', async () => {
    http2.answer = () => ({ status: 200 })
    await put(apns({ priority: 5 }))
    await put({
      channel: 'PUSH',
      driver: 'fcm',
      config: { projectId: 'p', url: url() },
      secret: '{}',
    })
    expect(await send('PUSH', { driver: 'apns' })).toMatchObject({ driver: 'apns' })
    expect(https.received).toEqual([])
  })

  it('is tested with a device that is registered, by the id of its record', async () => {
    const base = `/admin/realms/${realm}`
    const user = (await server.admin.send('POST', `${base}/users`, { username: 'phone' })).body
    const device = await server.admin.send('POST', `${base}/messaging/push-tokens`, {
      userId: user.userId,
      deviceId: 'd1',
      platform: 'ios',
      driver: 'apns',
      token: 'a-device-token-that-nobody-sees',
    })
    await put({ channel: 'PUSH', driver: 'fcm', config: { projectId: 'p' }, secret: '{}' })
    const config = { keyId: 'K', teamId: 'T', topic: 'a.b', url: 'https://127.0.0.1' }
    await put(apns({ priority: 5, config }))
    const test = `${base}/messaging/providers/PUSH/test`
    const { body } = await server.admin.send('POST', test, { to: device.body.id })
    expect(body.error).toBe('PUSH/apns: 127.0.0.1: a loopback address is not allowed')
  })
})
