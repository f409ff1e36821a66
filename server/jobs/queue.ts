/** The queue in the database: adds jobs, and runs the workers that take them. */

import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Attempted, JobHandler, NewJob } from './job.ts'
import type { PollTimes } from './loop.ts'
import { createJobStore, type QueueFigures } from './store.ts'
import { startWorker, type Worker } from './worker.ts'

export interface Jobs {
  /** Statements for the transaction of whatever causes the jobs; they wake the other nodes. `wake` once it is committed. */
  enqueueStatements(queue: string, jobs: readonly NewJob[]): Statement[]
  /** As `enqueueStatements`, for a queue with one job a target: it runs once after this, however often it is asked for. */
  askStatements(queue: string, job: NewJob, options: { readonly mended: boolean }): Statement[]
  /** This node looks for due jobs now. */
  wake(queue?: string): void
  /** What the process before this one was at when it died is free at once, where there can be no other process. */
  takeOver(): Promise<void>
  /** Takes and runs the jobs of these queues until it is stopped. */
  start(handlers: readonly JobHandler[]): Promise<RunningJobs>
}

export interface RunningJobs {
  /** Resolves when nothing runs and nothing is due any more. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export interface JobsParts {
  readonly storage: Pick<
    Storage,
    'db' | 'dialect' | 'commit' | 'append' | 'announce' | 'subscribe' | 'listening'
  >
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly metrics: { jobAttempted(queue: string, outcome: Attempted): void }
  /** From 0 up to 1, for jitter. */
  readonly random?: () => number
  /** How long a stopping server waits for jobs that run, and again for them to notice. */
  readonly patienceMs?: number
  readonly pollMs?: PollTimes
}

/** What nodes tell each other by. */
const topicOf = (queue: string): string => `jobs ${queue}`

/** The key of the one job of a queue that recurs. */
const recurring = 'recurring'

export const openJobs = (parts: JobsParts): Jobs => {
  const { storage, clock, logger, metrics, random = Math.random, patienceMs = 3000, pollMs } = parts
  const store = createJobStore(storage)
  const workers = new Map<string, Set<Worker>>()

  const announcement = (queue: string): Statement[] => {
    const one = storage.announce(topicOf(queue))
    return one ? [one] : []
  }

  const enqueueStatements: Jobs['enqueueStatements'] = (queue, jobs) =>
    jobs.length > 0 ? [...store.enqueue(queue, jobs, clock.now()), ...announcement(queue)] : []

  const first = ({ queue, firstAfterMs }: JobHandler): Statement[] =>
    firstAfterMs === undefined
      ? []
      : enqueueStatements(queue, [{ key: recurring, payload: {}, at: clock.now() + firstAfterMs }])

  return {
    enqueueStatements,
    askStatements: (queue, job, options) => [
      ...store.ask(queue, job, clock.now(), options),
      ...announcement(queue),
    ],
    wake: (queue) => {
      for (const [name, own] of workers)
        if (queue === undefined || queue === name) for (const worker of own) worker.wake()
    },
    takeOver: async () => {
      if (!storage.dialect.sharedByProcesses) await storage.append([store.free(clock.now())])
    },
    start: async (handlers) => {
      await storage.append(handlers.flatMap(first))
      const attempted = metrics.jobAttempted
      const own = { storage, store, clock, logger, attempted, random, patienceMs, pollMs }
      const started = handlers.map((handler) => ({
        queue: handler.queue,
        worker: startWorker(handler, { ...own, announcement: announcement(handler.queue) }),
      }))
      const unsubscribe = storage.subscribe((topic) => {
        for (const { queue, worker } of started)
          if (topic === null || topic === topicOf(queue)) worker.wake()
      })
      for (const { queue, worker } of started) {
        workers.set(queue, (workers.get(queue) ?? new Set()).add(worker))
        worker.wake()
      }
      return {
        idle: async () => {
          await Promise.all(started.map(({ worker }) => worker.idle()))
        },
        stop: async () => {
          unsubscribe()
          for (const { queue, worker } of started) workers.get(queue)?.delete(worker)
          await Promise.all(started.map(({ worker }) => worker.stop()))
        },
      }
    },
  }
}

/** How much waits, and since when, for the metrics. */
export const jobFigures = (
  storage: Pick<Storage, 'db' | 'dialect'>,
): (() => Promise<QueueFigures[]>) => createJobStore(storage).figures
