/**
 * Each measure that is there for speed or memory alone has a name and can be switched off with `--tuning-off`: to measure
 * it (`npm run bench -- tuning`), and to find out whether a fault comes from it. One list for the process, because settings
 * of V8 are of the process too.
 */

import type { Tuning } from '#server/config/tunings.ts'

let off: ReadonlySet<Tuning> = new Set()

/** Called once, before anything is opened. */
export const switchOff = (names: readonly Tuning[]): void => {
  off = new Set(names)
}

export const isOn = (name: Tuning): boolean => !off.has(name)
