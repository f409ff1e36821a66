/**
 * Delivers events to webhooks, at least once each: the schedule of Standard Webhooks over three days, with what the
 * receiver asks for by Retry-After. A receiver that is gone (410), or that took no delivery for as long as one was
 * tried, is not sent anything any more: its webhook is disabled.
 */

import { Webhook, type WebhookDoc } from '#schemas/kinds/notifications/webhook.ts'
import type { AuditRecord } from '#schemas/wire/events.ts'
import { eventsByIds } from '#server/audit/event-scan.ts'
import type { StoredEvent } from '#server/audit/records.ts'
import type { Job, JobHandler, JobResult, Outcome } from '#server/jobs/job.ts'
import { isDoneSince } from '#server/jobs/lane.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { gathered } from '#server/storage/gathered.ts'
import { type DeliveryPayload, webhookQueue } from './fan-out.ts'
import { payloadOf } from './payload.ts'
import type { Answer, SendDelivery } from './sender.ts'

export interface DeliveryParts {
  readonly storage: Pick<Storage, 'db'>
  readonly copy: Pick<Copy, 'known'>
  readonly send: SendDelivery
  readonly readRecords: (rows: readonly StoredEvent[]) => Promise<readonly AuditRecord[]>
  /** Ends deliveries to a webhook, by a write that says why; nothing where it is disabled already. */
  readonly disable: (webhook: StoredDocument, reason: string) => Promise<void>
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** After the first failure, the second, and so on. */
export const schedule: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]
const longestRetryAfter = 24 * hour
/** How long a delivery that arrived stays in the list. */
const keptMs = 3 * 24 * hour
const gone = 410
const mostRecords = 100

const resultOf = ({ status, durationMs }: Answer, at: number): JobResult => ({
  status,
  durationMs,
  at,
})

/** Never sooner than the schedule says: a receiver that always asks for a second would use it up in ten. */
const waitAfter = (attempt: number, asked: number | null): { afterMs?: number } => {
  const bounded = Math.min(asked ?? 0, longestRetryAfter)
  return bounded > (schedule[attempt - 1] ?? 0) ? { afterMs: bounded } : {}
}

export const webhookDeliveries = (
  parts: DeliveryParts & { readonly clock: { now(): number } },
): JobHandler<DeliveryPayload> => {
  const { storage, copy, send, readRecords, disable, clock } = parts

  const webhookOf = async ({ realm, target }: Job): Promise<StoredDocument | undefined> =>
    (await copy.known(realm ?? ''))?.byId(Webhook.kind, target)

  /** Deliveries that begin together read their events together. */
  const recordOf = gathered(mostRecords, async (ids: readonly number[]) => {
    const rows = await eventsByIds(storage, ids)
    const records = await readRecords(rows)
    const byId = new Map(rows.map(({ id }, i) => [id, records[i]]))
    return ids.map((id) => byId.get(id))
  })

  const outcomeOf = async (
    webhook: StoredDocument,
    attempt: number,
    answer: Answer,
  ): Promise<Outcome> => {
    const result = resultOf(answer, clock.now())
    if (answer.delivered) return { kind: 'done', result }
    const reason = answer.reason ?? 'it was not delivered'
    if (answer.status === gone) {
      await disable(webhook, reason)
      return { kind: 'dead', reason, result }
    }
    return { kind: 'retry', reason, result, ...waitAfter(attempt, answer.retryAfterMs) }
  }

  return {
    queue: webhookQueue,
    perTarget: 16,
    atOnce: 128,
    leaseMs: 8 * second,
    waits: schedule,
    jitter: 0.1,
    keepMs: keptMs,
    run: async (job, signal) => {
      const webhook = await webhookOf(job)
      if (!webhook) return { kind: 'dead', reason: 'the webhook was deleted' }
      if (!contentOf<WebhookDoc>(webhook).enabled)
        return { kind: 'dead', reason: 'the webhook is disabled' }
      const record = await recordOf(job.payload.event)
      if (record?.realm !== webhook.realm)
        return { kind: 'dead', reason: 'the event is not kept any more' }
      const answer = await send(webhook, { id: job.id, body: payloadOf(job.id, record) }, signal)
      return outcomeOf(webhook, job.attempt, answer)
    },
    dead: async (job, reason) => {
      const webhook = await webhookOf(job)
      if (!webhook) return
      // A firewall can refuse one event for a text that an anonymous caller chose, such as the username of a failed sign-in. That
      // disables no webhook whose receiver takes other events.
      const lane = { queue: webhookQueue, target: job.target }
      if (await isDoneSince(storage, lane, job.createdAt)) return
      await disable(webhook, `no attempt of ${job.attempt} arrived: ${reason}`)
    },
  }
}
