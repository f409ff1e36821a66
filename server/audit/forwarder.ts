/**
 * Sends the audit trail to the receiver that is configured: batches of events as JSON arrays, in the order of their
 * commits, each at least once. A cursor marks the position, which moves when the receiver has
 * answered 2xx; until then the same events are sent again, with the same ids. It is a job like any other: one node at
 * a time sends, also across crashes, and a failed batch is tried again later. No request that causes an event waits for it.
 *
 * A receiver may refuse an event for its content: a firewall takes the username of a failed sign-in for an attack, and the sender
 * of that username must not end the forwarding. After some attempts the batch is divided, and the event alone goes without its texts.
 */

import type { AuditRecord } from '#schemas/wire/events.ts'
import type { Job, JobHandler, Outcome } from '#server/jobs/job.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { isJobWaiting, isQueueFailing } from '#server/jobs/store.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { signatureHeaders } from '#server/platform/signature.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import { type Emission, type EmissionSettings, isForwarding } from './emission.ts'
import type { Outbox, OutboxEvent, Position } from './outbox.ts'
import type { ReadRecords } from './records.ts'

export interface Forwarder {
  readonly handler: JobHandler
  /** Looks soon whether there is something to send. */
  kick(): void
  /** To be committed with a configuration by which forwarding begins: what is older is not sent. */
  beginStatements(): Promise<Statement[]>
  /** Null where nothing is forwarded. */
  works(): Promise<boolean | null>
  /** Follows the events of this node; returns what ends it. */
  start(): () => Promise<void>
}

export interface ForwarderParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'append'>
  readonly outbox: Outbox
  readonly emission: Emission
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly readRecords: ReadRecords
  readonly clock: Clock
  readonly logger: Pick<Logger, 'error'>
}

export const forwardQueue = 'audit-forward'

const cursorName = 'audit-forward'
const mostEvents = 200
const mostBytes = 512 * 1024
/** The body of the response is ignored. */
const longestAnswer = 64 * 1024
/** Events that come together are sent together. */
const gatherMs = 100
/** A node that died before it could ask for a job is noticed by the others. */
const pollMs = 60_000
/** How soon what transactions under way have held back is asked for again. */
const unsettledMs = 100
const minute = 60_000
/** Deliveries to an unreachable receiver are retried for a week; a new event restarts the schedule. */
const waits = [1_000, 5_000, 15_000, minute, ...Array<number>(2000).fill(5 * minute)]
/** So many failures in a row are no accident. */
const failuresToTell = 3

/** Attempts with the whole batch: a receiver that fails for a moment gets all of it. */
const wholeAttempts = 3
/** Refusals by credentials or rate (RFC 9110 §15.5, RFC 6585 §4): fewer events would be refused as well. */
const aboutOthers: ReadonlySet<number> = new Set([401, 407, 408, 429])
const withheld = 'withheld'

/** What remains of an event when the texts in it, which callers may have chosen, are left out. */
const withoutTexts = ({ onBehalfOf: _, ...record }: AuditRecord): AuditRecord => ({
  ...record,
  actor: withheld,
  resourceId: null,
  detail: `the receiver refuses this event: GET /admin/realms/${record.realm}/events has its texts`,
})

interface Failure {
  readonly reason: string
  /** The receiver is there and does not want the request (RFC 9110 §15.5): it may want others. */
  readonly isRefusal: boolean
}

interface Batch {
  readonly records: readonly AuditRecord[]
  readonly body: string
  /** After the last event that is in it or passed over. */
  readonly position: Position
}

/** As many events from the front as fit, of the categories that are wanted. */
const batchOf = (
  events: readonly OutboxEvent[],
  all: readonly AuditRecord[],
  { categories }: EmissionSettings,
): Batch => {
  const texts: string[] = []
  const records: AuditRecord[] = []
  let bytes = 0
  let position = ''
  for (const [i, event] of events.entries()) {
    const record = all[i]
    if (record && categories.includes(record.category)) {
      const text = JSON.stringify(record)
      bytes += Buffer.byteLength(text) + 1
      if (bytes > mostBytes && texts.length > 0) break
      texts.push(text)
      records.push(record)
    }
    position = event.position
  }
  return { records, body: `[${texts.join(',')}]`, position }
}

/** `hmac:<secret>` signs as webhooks are signed; anything else is the header's value. */
const authorizationHeaders = (
  authorization: string | null,
  signed: { readonly id: string; readonly at: number; readonly body: string },
): Readonly<Record<string, string>> => {
  if (authorization === null) return signatureHeaders(signed, [])
  const secret = /^hmac:(.*)$/s.exec(authorization)?.[1]
  return secret === undefined
    ? { ...signatureHeaders(signed, []), authorization }
    : signatureHeaders(signed, [secret])
}

export const createForwarder = (parts: ForwarderParts): Forwarder => {
  const { storage, outbox, emission, jobs, outgoing, readRecords, clock, logger } = parts
  const { db } = storage

  /** Why the receiver does not have the batch; undefined when it has. */
  const send = async (
    settings: EmissionSettings,
    { records, body }: Batch,
    signal: AbortSignal,
  ): Promise<Failure | undefined> => {
    if (records.length === 0) return undefined
    const id = records.at(-1)?.id ?? ''
    try {
      const { status } = await outgoing.request({
        url: settings.httpUrl,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...authorizationHeaders(settings.authorization, { id, at: clock.now(), body }),
        },
        body,
        timeoutMs: settings.timeoutMs,
        maxBytes: longestAnswer,
        dropBody: true,
        signal,
      })
      if (status >= 200 && status < 300) return undefined
      const isRefusal = status >= 400 && status < 500 && !aboutOthers.has(status)
      return { reason: `the receiver answers ${status}`, isRefusal }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { reason: error.message, isRefusal: false }
    }
  }

  /** Fewer and fewer of the events, while the receiver refuses them; the position after those that it has. */
  const sendSome = async (
    settings: EmissionSettings,
    events: readonly OutboxEvent[],
    { attempt }: Pick<Job, 'attempt'>,
    signal: AbortSignal,
  ): Promise<Position | Failure> => {
    const records = await readRecords(events)
    for (let most = events.length; ; most = Math.ceil(most / 2)) {
      const some = events.slice(0, most)
      const batch = batchOf(some, records, settings)
      const failure = await send(settings, batch, signal)
      if (!failure) return batch.position
      if (!failure.isRefusal || attempt <= wholeAttempts) return failure
      if (most > 1) continue
      const bare = batchOf(some, records.slice(0, 1).map(withoutTexts), settings)
      const again = await send(settings, bare, signal)
      if (again) return again
      const [{ id: event } = { id: undefined }] = batch.records
      logger.error({ event, reason: failure.reason }, 'an event was forwarded without its texts')
      return bare.position
    }
  }

  /** One batch; undefined when there is more to send at once. */
  const step = async (job: Job, signal: AbortSignal): Promise<Outcome | undefined> => {
    // Read, not remembered: what was set a moment ago on another node counts.
    const settings = await emission.read()
    if (!isForwarding(settings)) return { kind: 'done' }
    const from = await outbox.cursor(cursorName)
    const { events, more } = await outbox.read(from, mostEvents)
    if (events.length === 0)
      return more ? { kind: 'again', afterMs: unsettledMs } : { kind: 'done' }
    const reached = await sendSome(settings, events, job, signal)
    if (typeof reached !== 'string') return { kind: 'retry', reason: reached.reason }
    try {
      await storage.commit([outbox.advance(cursorName, from, reached)])
    } catch (error) {
      // Forwarding was restarted concurrently.
      if (!(error instanceof GuardFailedError)) throw error
    }
    return undefined
  }

  const handler: JobHandler = {
    queue: forwardQueue,
    perTarget: 1,
    // On whatever node: the order of events is the receiver's.
    ordered: true,
    leaseMs: 15_000,
    waits,
    jitter: 0.1,
    run: async (job, signal) => {
      for (;;) {
        const outcome = await step(job, signal)
        if (outcome) return outcome
        if (signal.aborted) return { kind: 'again', afterMs: 0 }
      }
    },
  }

  /** A job that has not started yet will see every current event, also while it waits after a failure. */
  const ask = async (): Promise<void> => {
    if (!isForwarding(emission.current())) return
    if (!(await isJobWaiting(storage, forwardQueue)))
      await storage.append(jobs.enqueueStatements(forwardQueue, [{ payload: {} }]))
    jobs.wake(forwardQueue)
  }

  let gathering: NodeJS.Timeout | undefined
  let asking = Promise.resolve()
  const kick = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined
      asking = ask().catch((error) => logger.error({ err: error }, 'forwarding events failed'))
    }, gatherMs).unref()
  }

  return {
    handler,
    kick,

    beginStatements: async () => {
      const position = await outbox.end()
      return [
        statement(
          db
            .insertInto('outbox_cursors')
            .values({ name: cursorName, position })
            .onConflict((conflict) => conflict.column('name').doUpdateSet({ position })),
        ),
      ]
    },

    works: async () => {
      if (!isForwarding(await emission.read())) return null
      return !(await isQueueFailing(storage, forwardQueue, failuresToTell))
    },

    start: () => {
      const unlisten = outbox.listen(({ category }) => {
        if (emission.current().categories.includes(category)) kick()
      })
      const polling = setInterval(kick, pollMs).unref()
      kick()
      return async () => {
        unlisten()
        clearInterval(polling)
        clearTimeout(gathering)
        await asking
      }
    },
  }
}
