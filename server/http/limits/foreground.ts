/**
 * Requests of the foreground: sign-ins, tokens, pages, everything but bulk work, which gives way to them. A request counts for a
 * moment after it came; a count of those under way would not go down again where a connection is lost.
 */

/** Longer than one caller takes from an answer to its next request. */
const momentMs = 100

export interface Foreground {
  /** Such a request has come. */
  note(): void
  isBusy(): boolean
}

export const createForeground = (): Foreground => {
  let last = Number.NEGATIVE_INFINITY
  return {
    note: () => {
      last = performance.now()
    },
    isBusy: () => performance.now() - last < momentMs,
  }
}
