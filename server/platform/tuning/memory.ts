/** How much memory the server holds, beside what is alive in it. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** By then the first requests after the start are answered. */
export const SETTLED_MS = 500

type Collect = (options: Readonly<Record<'type' | 'execution' | 'flavor', string>>) => void

/**
 * Gives back to the system what only the start needed. V8 keeps the space in which modules were loaded and routes were
 * made until memory is short; nothing but a collection of the last resort makes that space small again. It takes about as
 * long as the check of four passwords.
 *
 * Resident memory of an idle server without the measure, divided by that with it, on SQLite, on PostgreSQL, and on
 * PostgreSQL with two nodes: 1.18, 1.17, 1.10, then 1.10, 1.17, 1.18, then 1.13, 1.19, 1.14 (`npm run bench -- tuning`, 6
 * pairs, Node.js 24.21, two cores). Other work ran beside each of the three runs: rates of the same server scatter between
 * 220 and 1,510 tokens per second from row to row, so they show nothing of an effect on rates.
 */
export const giveBackMemory = (): void => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  // Nothing where another thread, which shares the flags, has taken it back in between.
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
