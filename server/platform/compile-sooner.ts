/**
 * V8 makes its fastest code of a function after thousands of calls. A sign-in, of which there are a few in a second, was
 * still at its slower code after eight thousand. Called when the server has started: what a start runs once is not worth the work.
 */

import { setFlagsFromString } from 'node:v8'

/** Calls after which each of its compilers is asked. */
const calls = { maglev: 100, turbofan: 500 }

/** Flags come and go, and V8 complains on stderr of those it does not know: only where these were seen to work. */
const isKnown = process.versions.v8.startsWith('13.')

export const compileSooner = (): void => {
  if (!isKnown) return
  for (const [compiler, count] of Object.entries(calls))
    setFlagsFromString(`--invocation-count-for-${compiler}=${count}`)
}
