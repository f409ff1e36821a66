/** Memory that only the start needed. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Whoever waited for the start has its first answers by then. */
export const SETTLED_MS = 500

type Collect = (options: Readonly<Record<'type' | 'execution' | 'flavor', string>>) => void

/**
 * Gives it back to the system. V8 keeps the space in which modules were loaded and routes were made, a seventh of an idle
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
