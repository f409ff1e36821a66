/**
 * Push messages to Apple's devices over HTTP/2, with a provider token (ES256) instead of a certificate. Apple wants one
 * persistent connection, and a token that is neither older than an hour nor renewed too often.
 */

import {
  DeliveryError,
  type DriverTools,
  firstMissing,
  type MessagingDriver,
  type Provider,
} from '../driver.ts'
import { isPassing } from '../gateway.ts'
import { createHttp2, type Http2Client } from '../http2.ts'
import { createProviderCache } from '../provider-cache.ts'

const hosts = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
}
const tokenLifeMs = 40 * 60_000
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The token belongs to no app that is installed. */
const goneReasons: ReadonlySet<string> = new Set([
  'Unregistered',
  'BadDeviceToken',
  'DeviceTokenNotForTopic',
  'ExpiredToken',
])

interface Line {
  readonly client: Http2Client
  token: { readonly value: Promise<string>; readonly madeAt: number } | undefined
}

const signToken = async ({ config, secret = '' }: Provider, now: number): Promise<string> => {
  const { importPKCS8, SignJWT } = await import('jose')
  const { keyId = '', teamId = '' } = config
  const signer = await importPKCS8(secret.trim(), 'ES256').catch(() => {
    throw new DeliveryError('the secret is not a key of Apple (PEM, P-256)')
  })
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setIssuedAt(Math.floor(now / 1000))
    .sign(signer)
}

const reasonIn = (body: string): string => {
  const [, reason = ''] = /"reason"\s*:\s*"(\w{1,60})"/.exec(body) ?? []
  return reason
}

export const createApns = ({ outgoing, clock }: DriverTools): MessagingDriver => {
  const lines = createProviderCache<Line>(({ client }) => client.close())

  const openLine = ({ config }: Provider): Line => {
    const usual = config.production === true ? hosts.production : hosts.sandbox
    const url = config.url ?? usual
    return { client: createHttp2({ outgoing, url, ca: config.ca }), token: undefined }
  }
  const tokenOf = (line: Line, provider: Provider): Promise<string> => {
    const now = clock.now()
    if (line.token === undefined || now - line.token.madeAt > tokenLifeMs)
      line.token = { value: signToken(provider, now), madeAt: now }
    return line.token.value
  }

  return {
    name: 'apns',
    channels: ['PUSH'],
    lacks: (provider) => firstMissing(provider, ['secret']),
    send: async (to, message, provider) => {
      const line = lines.of(provider, () => openLine(provider))
      const { status, headers, body } = await line.client.post({
        path: `/3/device/${encodeURIComponent(to)}`,
        headers: {
          authorization: `bearer ${await tokenOf(line, provider)}`,
          'apns-topic': provider.config.topic ?? '',
          'apns-push-type': 'alert',
          'apns-priority': '10',
          ...(uuid.test(message.id) ? { 'apns-id': message.id } : {}),
        },
        body: JSON.stringify({
          ...message.data,
          aps: { alert: { title: message.subject, body: message.text }, sound: 'default' },
        }),
      })
      if (status === 200) return { messageId: String(headers['apns-id'] ?? message.id) }
      const reason = reasonIn(body)
      const expired = reason === 'ExpiredProviderToken'
      if (expired) line.token = undefined
      throw new DeliveryError(`Apple answered ${`${status} ${reason}`.trim()}`, {
        retryable: isPassing(status) || expired,
        gone: status === 410 || goneReasons.has(reason),
      })
    },
    close: () => lines.clear(),
  }
}
