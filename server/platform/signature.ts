/**
 * Signatures of deliveries: the hexadecimal HMAC over the raw body, under the header of GitHub, and the scheme of
 * Standard Webhooks, which also covers id and time, against replay.
 */

import { createHmac } from 'node:crypto'

export interface Signed {
  /** The same at every attempt. */
  readonly id: string
  /** Of the attempt, in milliseconds. */
  readonly at: number
  readonly body: string
}

const prefix = 'whsec_'

/** Standard Webhooks: a secret with the prefix is the Base64 of the key; any other is the key itself. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), 'base64')
    : Buffer.from(secret, 'utf8')

/** With several secrets, the newest first: a receiver that knows any of them finds its signature. */
export const signatureHeaders = (
  { id, at, body }: Signed,
  secrets: readonly string[],
): Readonly<Record<string, string>> => {
  const seconds = Math.floor(at / 1000)
  const named = { 'webhook-id': id, 'webhook-timestamp': String(seconds) }
  const [newest] = secrets
  if (newest === undefined) return named
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`)
    return `v1,${mac.digest('base64')}`
  })
  return {
    ...named,
    'webhook-signature': signatures.join(' '),
    'x-hub-signature-256': `sha256=${createHmac('sha256', newest).update(body).digest('hex')}`,
  }
}
