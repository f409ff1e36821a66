/**
 * Refusals of anonymous callers, slowed down. While the refusals of a realm come faster than a budget, each waits before it is
 * sent: a caller that sends in a loop is held up by its own refusals, and the callers with good credentials are not. The wait
 * depends on the rate alone, so that the time of an answer never tells the cause.
 */

import { setTimeout } from 'node:timers/promises'
import type { Clock } from '#server/platform/clock.ts'
import { createMemoryLimiter } from '../rate-limit.ts'

export interface RefusalBudget {
  /** Refusals of a realm that are answered at once: this many a second, and `burst` after a pause. */
  readonly perSecond: number
  readonly burst: number
  readonly waitMs: number
  /** Refusals that may wait at a time; each holds a connection. One more is answered at once. */
  readonly mostWaiting: number
}

/** Above what misconfigured clients send, below what a flood has to send to be felt. */
export const refusalBudget: RefusalBudget = {
  perSecond: 50,
  burst: 100,
  waitMs: 500,
  mostWaiting: 1000,
}

/** To be awaited before a refusal is sent. The realm must exist: its name is kept. */
export type SlowRefusal = (realm: string) => Promise<void>

export const createSlowRefusals = (
  {
    clock,
    metrics,
  }: {
    readonly clock: Clock
    readonly metrics: { readonly refusalDelayed: (realm: string) => void }
  },
  { perSecond, burst, waitMs, mostWaiting }: RefusalBudget = refusalBudget,
): SlowRefusal => {
  const limiter = createMemoryLimiter(clock, { limit: perSecond, seconds: 1, burst })
  let waiting = 0

  return async (realm) => {
    if ((await limiter.take(realm)) === 0 || waiting >= mostWaiting) return
    waiting += 1
    metrics.refusalDelayed(realm)
    await setTimeout(waitMs, undefined, { ref: false })
    waiting -= 1
  }
}
