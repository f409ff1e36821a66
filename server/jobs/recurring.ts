/** Work that recurs: one job for all nodes, so that each round is done once. */

import type { Logger } from '#server/platform/logger.ts'
import type { JobHandler } from './job.ts'

export interface RecurringWork {
  readonly queue: string
  readonly everyMs: number
  readonly logger: Pick<Logger, 'error'>
  /** A round that fails is only logged: the next one comes anyway. */
  readonly work: (signal: AbortSignal) => Promise<void>
}

const leaseMs = 60_000

export const recurring = ({ queue, everyMs, logger, work }: RecurringWork): JobHandler => ({
  queue,
  perTarget: 1,
  leaseMs,
  waits: [],
  firstAfterMs: everyMs,
  run: async (_job, signal) => {
    try {
      await work(signal)
    } catch (error) {
      logger.error({ err: error, queue }, 'work that recurs failed')
    }
    return { kind: 'again', afterMs: everyMs }
  },
})
