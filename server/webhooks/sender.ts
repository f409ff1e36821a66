/** Sends one delivery: signed, through the guarded client, once, within ten seconds, and to no other address. */

import type { WebhookDoc } from '#schemas/kinds/notifications/webhook.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { signatureHeaders } from '#server/platform/signature.ts'
import { previousWebhookSecrets } from '#server/realm/rules/previous-secrets.ts'
import type { Storage } from '#server/storage/contract.ts'
import {
  contentOf,
  type StoredDocument,
  type StoredSecret,
} from '#server/storage/documents/document.ts'
import { gathered } from '#server/storage/gathered.ts'

export interface Delivery {
  readonly id: string
  readonly body: string
}

/** The outcome of an attempt. */
export interface Answer {
  readonly delivered: boolean
  /** Null where there was no answer. */
  readonly status: number | null
  /** Why it does not count as delivered. */
  readonly reason: string | null
  /** The `Retry-After` of the receiver. */
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

export type SendDelivery = (
  webhook: StoredDocument,
  delivery: Delivery,
  signal?: AbortSignal,
) => Promise<Answer>

export interface SenderParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
  /** A stored secret, opened. */
  readonly reveal: (webhook: StoredDocument, pointer: string, secret: StoredSecret) => string | null
  /** Of a whole attempt. */
  readonly timeoutMs?: number
}

export const secretPointer = '/secret'

const defaultTimeoutMs = 10_000
/** The body of the response is ignored; an endless one is cut off. */
const longestAnswer = 64 * 1024
const mostWebhooks = 100

/** Seconds or a date (RFC 9110 §10.2.3); null where it is neither. */
const retryAfter = (value: string | undefined, now: number): number | null => {
  const text = value?.trim() ?? ''
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(ms) && ms > 0 ? ms : null
}

export const createSender = (parts: SenderParts): SendDelivery => {
  const { storage, clock, outgoing, reveal, timeoutMs = defaultTimeoutMs } = parts
  /** Opened once: the copy of a document holds the same value until it changes. */
  const known = new WeakMap<StoredSecret, string | null>()
  const opened = (webhook: StoredDocument, secret: StoredSecret): string | null => {
    const before = known.get(secret)
    if (before !== undefined) return before
    const plain = reveal(webhook, secretPointer, secret)
    known.set(secret, plain)
    return plain
  }

  /** The secret that a webhook had before, while it still counts. */
  const previousOf = gathered(mostWebhooks, async (ids: readonly string[]) => {
    const byId = await previousWebhookSecrets(storage, [...new Set(ids)], clock.now())
    return ids.map((id) => byId.get(id))
  })

  /** The secret and, for a while after a change, the one before it. */
  const secretsOf = async (webhook: StoredDocument): Promise<string[]> => {
    const stored = [webhook.secrets[secretPointer], await previousOf(webhook.id)]
    return stored.flatMap((one) => (one && opened(webhook, one)) || [])
  }

  return async (webhook, { id, body }, signal) => {
    const at = clock.now()
    const began = performance.now()
    const answered = (answer: Partial<Answer>): Answer => ({
      delivered: false,
      status: null,
      reason: null,
      retryAfterMs: null,
      ...answer,
      durationMs: Math.round(performance.now() - began),
    })
    const secrets = await secretsOf(webhook)
    // One that was made before every webhook had a secret: a receiver could not tell who sends.
    if (secrets.length === 0)
      return answered({
        reason: 'the webhook has no secret to sign with: make one with `iamctl webhooks secret`',
      })
    try {
      const { status, headers } = await outgoing.request({
        url: contentOf<WebhookDoc>(webhook).url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...signatureHeaders({ id, at, body }, secrets),
        },
        body,
        timeoutMs,
        maxBytes: longestAnswer,
        dropBody: true,
        signal,
      })
      return status >= 200 && status < 300
        ? answered({ delivered: true, status })
        : answered({
            status,
            reason: `the receiver answers ${status}`,
            retryAfterMs: retryAfter(headers['retry-after'], at),
          })
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return answered({ reason: error.message })
    }
  }
}
