/** The delay between rounds: the interval, and after failures a delay that doubles, with jitter. */

import { setTimeout } from 'node:timers/promises'

const firstDelay = 2000
const longestDelay = 300_000

export interface Waiting {
  readonly intervalMs: number
  /** Rounds that failed, one after the other. */
  readonly failures: number
  /** From 0 to 1. */
  readonly chance: number
}

export const delayOf = ({ intervalMs, failures, chance }: Waiting): number => {
  if (failures === 0) return Math.round(intervalMs * (0.95 + 0.1 * chance))
  const ceiling = Math.min(firstDelay * 2 ** (failures - 1), Math.max(intervalMs, longestDelay))
  return Math.round(ceiling * (0.5 + 0.5 * chance))
}

/** Ends early when it is to stop. */
export const wait = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined)
}
