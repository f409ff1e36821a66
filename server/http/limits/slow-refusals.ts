/**
 * Refusals of anonymous callers, slowed down. The refusals of a realm leave at a pace: those that come faster wait for their
 * turn. A caller that sends in a loop over so many connections is held to that pace by its own refusals, and the callers with
 * good credentials are not. The wait depends on the rate alone, so that the time of an answer never tells the cause.
 */

import type { Clock } from '#server/platform/clock.ts'

export interface RefusalBudget {
  /** Refusals of a realm that are sent: this many a second, and `burst` at once after a pause. */
  readonly perSecond: number
  readonly burst: number
  /** No refusal waits for longer: a client gives up after some time, and sends again. */
  readonly longestMs: number
  /** Refusals that may wait at a time; each holds a connection. One more is answered at once. */
  readonly mostWaiting: number
}

/** Above what misconfigured clients send, below what a flood has to send to be felt. */
export const refusalBudget: RefusalBudget = {
  perSecond: 50,
  burst: 100,
  longestMs: 10_000,
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
  { perSecond, burst, longestMs, mostWaiting }: RefusalBudget = refusalBudget,
): SlowRefusal => {
  const interval = 1000 / perSecond
  /** When the next refusal of a realm may leave. */
  const turns = new Map<string, number>()
  let waiting = 0

  return async (realm) => {
    const now = clock.now()
    const turn = Math.max(turns.get(realm) ?? 0, now - (burst - 1) * interval)
    // Also heals what a clock that was set back leaves.
    const leavesAt = Math.min(turn, now + longestMs)
    if (leavesAt > now && waiting >= mostWaiting) return
    turns.set(realm, leavesAt + interval)
    if (leavesAt <= now) return
    waiting += 1
    metrics.refusalDelayed(realm)
    await new Promise<void>((resolve) => {
      setTimeout(resolve, leavesAt - now).unref()
    })
    waiting -= 1
  }
}
