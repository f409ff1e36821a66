/** Requests to a target at even distances, so that it is asked no more often than it allows. */

import { setTimeout as wait } from 'node:timers/promises'

/** Resolves when the next request may be sent; rejects when the caller gives up. */
export type RequestRate = (signal?: AbortSignal) => Promise<void>

export const createRequestRate = (perSecond: number | undefined): RequestRate => {
  if (perSecond === undefined) return async () => undefined
  const distance = 1000 / perSecond
  let next = 0
  return async (signal) => {
    const now = performance.now()
    const at = Math.max(now, next)
    next = at + distance
    if (at > now) await wait(at - now, undefined, signal ? { signal } : {})
  }
}
