/** How much memory the server holds, beside what is alive in it. */

import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { isOn } from './switches.ts'

/** Flags come and go, and V8 complains on stderr of those it does not know: only where these were seen to work. */
const knowsFlags = process.versions.v8.startsWith('13.')

/**
 * Half of the heap may be garbage before V8 looks for it. Left alone it waits until three quarters are, and a server that
 * has planned a large realm holds that much until it ends.
 *
 * Peak of resident memory without the measure, divided by that with it, after the plans and the apply of a realm with
 * 1,000 clients and 10,000 users, on SQLite and on PostgreSQL: 1.13, 1.18 (`npm run bench -- gitops`, Node.js 24.21). Under a
 * load of tokens alone it makes no difference.
 */
export const boundGarbage = (): void => {
  if (knowsFlags) setFlagsFromString('--heap-growing-percent=100')
}

/** Bulk work under way in this process. */
let bulks = 0

/**
 * For work that passes through the memory what a whole directory holds: while it runs, garbage may be a quarter of what is
 * alive, and V8 looks for it more often. The pages that a heap has once had stay with the process for long after.
 *
 * Peak of resident memory above that of the start, over nine syncs of 20,000 users on PostgreSQL, without the measure and with
 * it: 151 and 75 MB; processor time of a full sync: 1.0 and 1.2 s (one run each on a machine with other work, Node.js 24.21).
 */
export const withinBulkBound = async <T>(work: () => Promise<T>): Promise<T> => {
  if (!knowsFlags || !isOn('bound-bulk-garbage')) return work()
  bulks += 1
  setFlagsFromString('--heap-growing-percent=25')
  try {
    return await work()
  } finally {
    bulks -= 1
    if (bulks === 0) setFlagsFromString(`--heap-growing-percent=${isOn('bound-garbage') ? 100 : 0}`)
  }
}

/** Of both halves of the space for new objects. */
const NEW_OBJECTS_BYTES = 32 * 2 ** 20

/**
 * Of the main thread. Left alone V8 doubles the space for new objects up to 128 MB, with requests under way whenever it
 * looks, and what they hold outside of the heap stays for as long. How large it may become is asked on the command line
 * only; whether it doubles when it is full, before every collection. Returns what ends it.
 *
 * Resident memory after load without the measure, divided by that with it, on SQLite, on PostgreSQL, and on PostgreSQL with
 * two nodes: 1.15, 1.50, 1.48 (`npm run bench -- tuning`, 6 pairs that take turns, Node.js 24.21, two cores with nothing
 * else to do). Rates of client_credentials: 1.00, 1.03, 1.00; of introspection: 1.05, 0.99, 0.96.
 */
export const boundNewObjects = (): (() => void) => {
  let isGrowing = true
  const setGrowing = (wanted: boolean): void => {
    if (wanted === isGrowing || !knowsFlags) return
    isGrowing = wanted
    setFlagsFromString(`--semi-space-growth-factor=${wanted ? 2 : 1}`)
  }
  const collections = new PerformanceObserver(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    setGrowing((space?.space_size ?? 0) < NEW_OBJECTS_BYTES)
  })
  collections.observe({ entryTypes: ['gc'] })
  return () => {
    collections.disconnect()
    setGrowing(true)
  }
}
