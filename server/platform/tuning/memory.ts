/** How much memory the server holds, beside what is alive in it. */

import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ResourceLimits } from 'node:worker_threads'
import { isOn } from './switches.ts'
import { setV8Flags } from './v8-flags.ts'

/**
 * Half of the heap may be garbage before V8 looks for it. Left alone it waits until three quarters are, and holds for
 * minutes of traffic what one busy moment took.
 */
export const boundGarbage = (): void => setV8Flags('--heap-growing-percent=100')

/**
 * Of a thread that answers questions: nothing outlives its answer. Left alone V8 doubles the space for new objects again
 * and again, because some question is always under way when it looks: from 4 to 27 MB in four minutes of traffic.
 */
export const threadLimits = (): ResourceLimits =>
  isOn('bound-threads') ? { maxYoungGenerationSizeMb: 12 } : {}

/** Of both halves of the space for new objects. */
const NEW_OBJECTS_BYTES = 32 * 2 ** 20

/**
 * Of the main thread. Left alone V8 doubles the space for new objects up to 128 MB, with requests under way whenever it
 * looks, and what they hold outside of the heap stays for as long. How large it may become is asked on the command line
 * only; whether it doubles when it is full, before every collection. Returns what ends it.
 */
export const boundNewObjects = (): (() => void) => {
  let isGrowing = true
  const setGrowing = (wanted: boolean): void => {
    if (wanted === isGrowing) return
    isGrowing = wanted
    setV8Flags(`--semi-space-growth-factor=${wanted ? 2 : 1}`)
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

/** By then the first requests after the start are answered. */
export const SETTLED_MS = 500

type Collect = (options: Readonly<Record<'type' | 'execution' | 'flavor', string>>) => void

/**
 * Gives back to the system what only the start needed. V8 keeps the space in which modules were loaded and routes were made, a seventh of an idle
 * server, until memory is short; nothing but a collection of the last resort makes that space small again. It takes about
 * as long as the check of four passwords.
 */
export const giveBackMemory = (): void => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  // Nothing where another thread, which shares the flags, has taken it back in between.
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
