/**
 * Push messages through Firebase Cloud Messaging, HTTP v1: a service account signs an assertion (RFC 7523), which buys
 * an access token that is used until shortly before it ends.
 */

import { isObject } from '#schemas/json-schema.ts'
import {
  DeliveryError,
  type DriverTools,
  firstMissing,
  type MessagingDriver,
  type Provider,
} from '../driver.ts'
import { exchange, idOf, isPassing, isTaken, jsonOf } from '../gateway.ts'
import { createProviderCache } from '../provider-cache.ts'

const usualUrl = 'https://fcm.googleapis.com'
const usualTokenUrl = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const assertionSeconds = 3600
/** A token is not used in its last minute. */
const marginMs = 60_000

interface ServiceAccount {
  readonly email: string
  readonly key: string
  readonly tokenUrl: string
}

interface AccessToken {
  readonly value: string
  readonly expiresAt: number
}

const accountOf = (secret: string): ServiceAccount => {
  const wrong = new DeliveryError('the secret is not the JSON of a service account')
  let parsed: unknown
  try {
    parsed = JSON.parse(secret)
  } catch {
    throw wrong
  }
  if (!isObject(parsed)) throw wrong
  const { client_email: email, private_key: key, token_uri: tokenUrl = usualTokenUrl } = parsed
  if (typeof email !== 'string' || typeof key !== 'string' || typeof tokenUrl !== 'string')
    throw wrong
  return { email, key, tokenUrl }
}

const assertionOf = async ({ email, key, tokenUrl }: ServiceAccount, now: number) => {
  const { importPKCS8, SignJWT } = await import('jose')
  const seconds = Math.floor(now / 1000)
  const signer = await importPKCS8(key, 'RS256').catch(() => {
    throw new DeliveryError('the private key of the service account cannot be read')
  })
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(email)
    .setAudience(tokenUrl)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + assertionSeconds)
    .sign(signer)
}

export const createFcm = ({ outgoing, clock }: DriverTools): MessagingDriver => {
  const tokens = createProviderCache<Promise<AccessToken>>(() => undefined)

  const buyToken = async ({ secret = '' }: Provider): Promise<AccessToken> => {
    const account = accountOf(secret)
    const response = await exchange(outgoing, {
      url: account.tokenUrl,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await assertionOf(account, clock.now()),
      }).toString(),
    })
    const { status } = response
    const { access_token: value, expires_in: seconds } = jsonOf(response)
    if (!isTaken(status) || typeof value !== 'string')
      throw new DeliveryError(`Google gave no access token (${status})`, {
        retryable: isPassing(status),
      })
    return { value, expiresAt: clock.now() + (Number(seconds) || 0) * 1000 }
  }

  const tokenOf = async (provider: Provider): Promise<string> => {
    const fresh = (): Promise<AccessToken> => {
      const bought = buyToken(provider)
      bought.catch(() => tokens.drop(provider))
      return bought
    }
    const kept = await tokens.of(provider, fresh)
    if (kept.expiresAt - marginMs > clock.now()) return kept.value
    tokens.drop(provider)
    return (await tokens.of(provider, fresh)).value
  }

  return {
    name: 'fcm',
    channels: ['PUSH'],
    lacks: (provider) => firstMissing(provider, ['secret']),
    send: async (to, message, provider) => {
      const { projectId = '', url = usualUrl } = provider.config
      const path = `/v1/projects/${encodeURIComponent(projectId)}/messages:send`
      const response = await exchange(outgoing, {
        url: new URL(path, url).href,
        method: 'POST',
        headers: {
          authorization: `Bearer ${await tokenOf(provider)}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          message: {
            token: to,
            notification: { title: message.subject, body: message.text },
            ...(message.data ? { data: message.data } : {}),
            android: { priority: 'HIGH' },
          },
        }),
      })
      const { status } = response
      const { name, error } = jsonOf(response)
      if (isTaken(status)) return { messageId: idOf(name) ?? message.id }
      if (status === 401 || status === 403) tokens.drop(provider)
      const reason = isObject(error) ? idOf(error['status']) : undefined
      throw new DeliveryError(
        `Firebase answered ${status}${reason === undefined ? '' : ` ${reason}`}`,
        // A revoked token is requested again; a removed app has no device any more.
        { retryable: isPassing(status) || status === 401, gone: status === 404 },
      )
    },
  }
}
