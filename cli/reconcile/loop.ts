/** Runs rounds until a signal; an apply in progress is finished. */

import type { Lock } from './lock.ts'
import { type RoundOptions, type RoundReport, runRound } from './round.ts'
import type { Status } from './status.ts'
import { delayOf, wait } from './waiting.ts'

export interface LoopOptions {
  readonly round: RoundOptions
  readonly intervalMs: number
  /** Ends after the first round. */
  readonly once: boolean
  readonly signal: AbortSignal
  readonly lock: Lock
  readonly status: Status | null
  readonly show: (report: RoundReport, nextInMs: number | null) => void
}

/** The last round. */
export const runLoop = async (options: LoopOptions): Promise<RoundReport | null> => {
  const { round, intervalMs, once, signal, lock, status, show } = options
  let failures = 0
  let last: RoundReport | null = null
  for (let count = 1; !signal.aborted; count += 1) {
    await lock.touch()
    last = await runRound(round, count)
    failures = last.outcome === 'failed' ? failures + 1 : 0
    status?.report(last, failures)
    const isLast = once || signal.aborted
    const delay = delayOf({ intervalMs, failures, chance: Math.random() })
    show(last, isLast ? null : delay)
    if (isLast) break
    await wait(delay, signal)
  }
  return last
}
