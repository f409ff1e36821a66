/** Flags of V8 that are set while it runs. */

import { setFlagsFromString } from 'node:v8'

/** They come and go, and V8 complains on stderr of those it does not know: only where these were seen to work. */
const isKnown = process.versions.v8.startsWith('13.')

export const setV8Flags = (...flags: readonly string[]): void => {
  if (!isKnown) return
  for (const flag of flags) setFlagsFromString(flag)
}
