/**
 * A follower of the outbox processes every event once, also across crashes: the results of a batch are committed together
 * with the step of the cursor. Any number of nodes may run the same follower; a batch that another node committed first is
 * dropped.
 */

import type { AuditRecord } from '#schemas/wire/events.ts'
import { createLoop } from '#server/jobs/loop.ts'
import type { Logger } from '#server/platform/logger.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import type { Outbox, OutboxEvent } from './outbox.ts'

export interface FollowerOptions {
  /** Of its cursor. */
  readonly name: string
  readonly outbox: Outbox
  readonly storage: Pick<Storage, 'commit' | 'dialect'>
  readonly logger: Pick<Logger, 'error'>
  /** Whether there is any subscriber. Without one, events are skipped unread. */
  readonly wanted: () => Promise<boolean>
  /** Events that may change the answer: it is asked again at once. */
  readonly changesWanted: (record: AuditRecord) => boolean
  /** What is to be written because of the events. */
  readonly make: (events: readonly OutboxEvent[]) => Promise<readonly Statement[]>
  /** After what was made is committed. */
  readonly made: () => void
}

export interface Follower {
  wake(): void
  /** Resolves when it has seen every event that was committed before. */
  idle(): Promise<void>
  stop(): Promise<void>
}

const batch = 500
/** Between batches: events that come together are dealt with together. */
const paceMs = 50
/** Time for which the answer about subscribers is cached. */
const unwantedMs = 2_000
/** Several nodes that follow should not meet at every event. */
const contendedMs = 100

export const startFollower = (options: FollowerOptions): Follower => {
  const { name, outbox, storage, logger, wanted, changesWanted, make, made } = options
  /** No event wakes it sooner. */
  let quietUntil = 0

  const step = async (): Promise<number | undefined> => {
    const from = await outbox.cursor(name)
    // Checked after the end is read: an event before the end was committed before the subscription.
    const end = await outbox.end()
    if (!(await wanted())) {
      quietUntil = Date.now() + unwantedMs
      const { events } = await outbox.read(from, 1)
      if (events.length > 0) await storage.commit([outbox.advance(name, from, end)])
      return undefined
    }
    const { events, position, more } = await outbox.read(from, batch)
    if (events.length === 0) return more ? paceMs : undefined
    const statements = await make(events)
    await storage.commit([outbox.advance(name, from, position), ...statements])
    if (statements.length > 0) made()
    quietUntil = Date.now() + paceMs
    return more ? 0 : paceMs
  }

  const loop = createLoop({
    // Events of other processes are polled: a notification per event would cost every request a message.
    hears: () => !storage.dialect.sharedByProcesses,
    look: async () => {
      try {
        return await step()
      } catch (error) {
        if (error instanceof GuardFailedError) return Math.random() * contendedMs
        throw error
      }
    },
    failed: (error) => logger.error({ err: error, follower: name }, 'following events failed'),
  })

  const unlisten = outbox.listen((record) => {
    if (changesWanted(record)) quietUntil = 0
    if (Date.now() >= quietUntil) loop.wake()
  })
  loop.wake()

  return {
    wake: loop.wake,
    idle: async () => {
      for (;;) {
        loop.wake()
        await loop.looking()
        const at = await outbox.cursor(name)
        const { events, more } = await outbox.read(at, 1)
        if (events.length === 0 && !more) return
      }
    },
    stop: async () => {
      unlisten()
      await loop.end()
    },
  }
}
