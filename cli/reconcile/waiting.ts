/** How long the loop waits: its interval, and after a failure a time that doubles; never exactly, so that many spread. */

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
