/**
 * The worker of one queue on one node: takes due jobs, runs them and records their outcome. It asks the database when this
 * node or another wakes it, when one of its jobs has ended, when the next job is due, and otherwise at long intervals.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Attempted, Job, JobHandler, Outcome } from './job.ts'
import { createLoop, type PollTimes } from './loop.ts'
import { type Claimed, isWholePart, type JobStore, type Lanes } from './store.ts'

export interface WorkerParts {
  readonly storage: Pick<Storage, 'commit' | 'append' | 'listening'>
  readonly store: JobStore
  /** Tells the other nodes that there is work in the queue. */
  readonly announcement: readonly Statement[]
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Counts attempts by their outcome. */
  readonly attempted: (queue: string, outcome: Attempted) => void
  /** From 0 up to 1, for jitter. */
  readonly random: () => number
  readonly patienceMs: number
  readonly pollMs?: PollTimes | undefined
}

export interface Worker {
  /** Looks for due jobs at once. */
  wake(): void
  /** Resolves when nothing runs and nothing is due. */
  idle(): Promise<void>
  /** Takes nothing more, waits a little for what runs, and gives back the rest. */
  stop(): Promise<void>
}

interface Running {
  readonly row: Claimed
  readonly ending: AbortController
  ended: Promise<void>
}

const defaultAtOnce = 64
const deadKeptMs = 30 * 24 * 3600_000
/** Jobs that another node was about to take when this one looked. */
const contendedMs = 20
/** Jobs that end together make room together. */
const gatherMs = 5
const sweepMs = 3600_000

const jobOf = (row: Claimed): Job => ({
  id: row.job_id,
  realm: row.realm,
  target: row.target,
  payload: JSON.parse(row.payload),
  attempt: row.attempts,
  createdAt: row.created_at,
})

const realmOf = ({ realm }: Pick<Claimed, 'realm'>): string => realm ?? ''

const within = async (ms: number, work: Promise<unknown>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([promise, work])
  clearTimeout(timer)
}

export const startWorker = (handler: JobHandler, parts: WorkerParts): Worker => {
  const { storage, store, announcement, clock, logger, attempted, random, patienceMs, pollMs } =
    parts
  const { queue, perTarget, atOnce = defaultAtOnce, ordered = false, leaseMs, waits } = handler
  const running = new Set<Running>()
  /** Targets whose last job failed here. */
  const failing = new Set<string>()
  let stopped = false
  let gathering: NodeJS.Timeout | undefined
  let sweptAt = Number.NEGATIVE_INFINITY

  /**
   * A realm holds no more places than it leaves free, and a target no more than its realm has left, however many of them there are:
   * receivers that answer slowly must not hold up mails, sign-outs and deliveries to the others (CWE-770).
   */
  const lanes = (free: number): Lanes => {
    const shareOf = (held: number): number => Math.ceil((free - held) / 2)
    const count = (names: readonly string[]) =>
      [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length] as const)
    const rows = [...running].map(({ row }) => row)
    const shares = new Map(
      count(rows.map(realmOf)).map(([realm, held]) => [realm, shareOf(held)] as const),
    )
    const realmOfTarget = new Map(rows.map((row) => [row.target, realmOf(row)]))
    const room = new Map<string, number>()
    for (const target of failing) room.set(target, 1)
    for (const [target, held] of count(rows.map(({ target }) => target))) {
      const share = shares.get(realmOfTarget.get(target) ?? '') ?? 0
      room.set(target, Math.min(room.get(target) ?? perTarget, share) - held)
    }
    return { queue, ordered, perTarget: ordered ? 1 : perTarget, room, shares, share: shareOf(0) }
  }

  /** Takes what is due; returns when to look again. */
  const look = async (): Promise<number | undefined> => {
    const free = atOnce - running.size
    // The end of any that runs wakes this again.
    if (free <= 0) return undefined
    const now = clock.now()
    const next = await store.nextAt(lanes(free))
    if (next === undefined || next > now)
      return (await sweep(now)) ? 0 : next === undefined ? undefined : next - now
    const [taken] = await storage.commit([store.claim(lanes(free), free, now, now + leaseMs)])
    // The one cast between what the table promises and what a statement returns.
    const rows = (taken?.rows ?? []) as unknown as readonly Claimed[]
    for (const row of rows) begin(row)
    return rows.length > 0 ? 0 : contendedMs
  }

  /** Removes what has been in the lists for long enough; returns whether there may be more of it. */
  const sweep = async (now: number): Promise<boolean> => {
    if (now - sweptAt < sweepMs) return false
    const [done, dead] = await storage.append([
      store.forget(queue, 'done', now - (handler.keepMs ?? 0)),
      store.forget(queue, 'dead', now - deadKeptMs),
    ])
    if (isWholePart(done?.count ?? 0) || isWholePart(dead?.count ?? 0)) return true
    sweptAt = now
    return false
  }

  const begin = (row: Claimed): void => {
    const one: Running = { row, ending: new AbortController(), ended: Promise.resolve() }
    running.add(one)
    one.ended = perform(one)
      .catch((error) => logger.error({ err: error, queue, job: row.job_id }, 'a job was left'))
      .then(() => {
        running.delete(one)
        lookSoon()
      })
  }

  /** What many jobs leave room for is taken at once; when nothing runs any more, nothing else will end. */
  const lookSoon = (): void => {
    if (running.size > 0) {
      gathering ??= setTimeout(() => lookNow(), gatherMs)
    } else lookNow()
  }
  const lookNow = (): void => {
    clearTimeout(gathering)
    gathering = undefined
    loop.wake()
  }

  const attempt = async ({ row, ending }: Running): Promise<Outcome> => {
    try {
      return await handler.run(jobOf(row), ending.signal)
    } catch (error) {
      logger.error({ err: error, queue, job: row.job_id }, 'a job failed unexpectedly')
      return { kind: 'retry', reason: error instanceof Error ? error.message : String(error) }
    }
  }

  const perform = async (one: Running): Promise<void> => {
    const extending = setInterval(() => void extend(one), leaseMs / 3).unref()
    try {
      const { row, ending } = one
      const outcome = await attempt(one)
      // A server that stops does not hold its own haste against a job.
      const cut = stopped && ending.signal.aborted && outcome.kind === 'retry'
      const final = cut ? outcome : await decide(row, outcome)
      const [result] = await storage.append(cut ? release(row) : [statementOf(row, final)])
      attempted(queue, result?.count === 0 ? 'lost' : cut ? 'released' : final.kind)
      if (final.kind === 'retry') failing.add(row.target)
      else failing.delete(row.target)
    } finally {
      clearInterval(extending)
    }
  }

  /** A failure after the last retry ends a job; its handler is called before that is written. */
  const decide = async (row: Claimed, outcome: Outcome): Promise<Outcome> => {
    if (outcome.kind !== 'retry' || row.attempts <= waits.length) return outcome
    await handler.dead?.(jobOf(row), outcome.reason)
    const { realm, target } = row
    logger.warn({ queue, job: row.job_id, realm, target, reason: outcome.reason }, 'gave up')
    return { ...outcome, kind: 'dead' }
  }

  const waitFor = (attempts: number): number => {
    const wait = waits[attempts - 1] ?? 0
    return wait + Math.floor(wait * (handler.jitter ?? 0) * random())
  }

  const release = (row: Claimed): Statement[] => [
    store.settle(row, { attempts: row.attempts - 1, next_at: clock.now() }),
    ...announcement,
  ]

  const statementOf = (row: Claimed, outcome: Outcome): Statement => {
    const now = clock.now()
    if (outcome.kind === 'done' && handler.keepMs === undefined) return store.remove(row)
    if (outcome.kind === 'again') {
      const next_at = now + outcome.afterMs
      return store.settle(row, { attempts: 0, next_at, created_at: now })
    }
    const result = JSON.stringify({
      ...outcome.result,
      ...(outcome.kind === 'done' ? {} : { reason: outcome.reason }),
    })
    if (outcome.kind === 'retry')
      return store.settle(row, {
        next_at: now + (outcome.afterMs ?? waitFor(row.attempts)),
        result,
      })
    return store.settle(row, { state: outcome.kind, finished_at: now, result })
  }

  const extend = async ({ row, ending }: Running): Promise<void> => {
    try {
      const [result] = await storage.append([store.extend(row, clock.now() + leaseMs)])
      if (result?.count === 0) ending.abort(new Error('the lease was lost'))
    } catch (error) {
      logger.warn({ err: error, queue, job: row.job_id }, 'a lease could not be extended')
    }
  }

  const loop = createLoop({
    look,
    hears: () => handler.untold !== true && storage.listening(),
    pollMs,
    failed: (error) => logger.error({ err: error, queue }, 'looking for jobs failed'),
  })
  const ended = (): Promise<unknown> => Promise.all([...running].map((one) => one.ended))

  return {
    wake: loop.wake,
    idle: async () => {
      while (loop.looking() !== undefined || running.size > 0) {
        await loop.looking()
        await ended()
      }
    },
    stop: async () => {
      stopped = true
      clearTimeout(gathering)
      await loop.end()
      await within(patienceMs, ended())
      for (const { ending } of running) ending.abort(new Error('the server stops'))
      await within(patienceMs, ended())
      await storage.append([...running].flatMap(({ row }) => release(row)))
    },
  }
}
