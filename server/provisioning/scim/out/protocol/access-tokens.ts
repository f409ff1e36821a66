/** The bearer that a target is sent: its static token, or an access token by client credentials (RFC 6749 §4.4), kept while it lasts. */

import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { ScimTargetInUse } from '../target.ts'
import { ScimRefusal, SecretMissing } from './refusal.ts'

export interface AccessTokens {
  of(target: ScimTargetInUse, signal?: AbortSignal): Promise<string>
  /** Forgets an access token that was refused, unless there is a newer one; false where the token is static. */
  drop(target: ScimTargetInUse, refused: string): boolean
}

interface Kept {
  readonly version: number
  readonly token: string
  readonly until: number
}

const timeoutMs = 10_000
const largestAnswer = 64 * 1024
/** Of an answer without `expires_in`. */
const usualLifeSeconds = 300
/** Renewed before its end: clocks differ, and requests take time. */
const earlyMs = 30_000

export const createAccessTokens = ({
  outgoing,
  now,
}: {
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly now: () => number
}): AccessTokens => {
  const kept = new Map<string, Kept>()
  /** Requests that come together wait for the same token. */
  const underWay = new Map<string, Promise<Kept>>()

  const requestToken = async (target: ScimTargetInUse, signal?: AbortSignal): Promise<Kept> => {
    const { tokenUrl = '', clientId = '' } = target.doc
    const secret = target.clientSecret
    if (secret === undefined) throw new SecretMissing('clientSecret')
    const basic = [clientId, secret].map(encodeURIComponent).join(':')
    const { status, body } = await outgoing
      .request({
        url: tokenUrl,
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(basic).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: 'grant_type=client_credentials',
        timeoutMs,
        maxBytes: largestAnswer,
        signal,
      })
      .catch((error: unknown) => {
        throw error instanceof OutgoingError ? new ScimRefusal(error.message, null) : error
      })
    const answer = status === 200 ? tokenIn(body) : undefined
    if (!answer) throw new ScimRefusal(`the token endpoint answers ${status} without a token`, null)
    const until = now() + answer.seconds * 1000 - earlyMs
    return { version: target.version, token: answer.token, until }
  }

  return {
    of: async (target, signal) => {
      if (target.doc.authType === 'bearer') {
        const { token } = target
        if (token === undefined) throw new SecretMissing('token')
        return token
      }
      const known = kept.get(target.id)
      if (known && known.version === target.version && known.until > now()) return known.token
      const asked = underWay.get(target.id) ?? requestToken(target, signal)
      underWay.set(target.id, asked)
      try {
        const made = await asked
        kept.set(target.id, made)
        return made.token
      } finally {
        underWay.delete(target.id)
      }
    },
    drop: ({ id, doc }, refused) => {
      if (kept.get(id)?.token === refused) kept.delete(id)
      return doc.authType === 'oauth2'
    },
  }
}

const tokenIn = (body: Uint8Array): { token: string; seconds: number } | undefined => {
  try {
    const { access_token: token, expires_in: seconds = usualLifeSeconds } = JSON.parse(
      Buffer.from(body).toString('utf8'),
    ) as { access_token?: unknown; expires_in?: unknown }
    return typeof token === 'string' && token !== '' && Number.isFinite(Number(seconds))
      ? { token, seconds: Number(seconds) }
      : undefined
  } catch {
    return undefined
  }
}
