/**
 * Resolving host names with a limit on how many are resolved at once. getaddrinfo occupies a thread
 * of libuv's pool until it answers; a few names with a slow name server would hold all of them, and
 * signing and hashing would stand still.
 */

import { lookup as systemLookup } from 'node:dns/promises'
import { OutgoingError } from './errors.ts'

export interface ResolvedAddress {
  address: string
  family: number
}

export type Lookup = (hostname: string) => Promise<ResolvedAddress[]>

const AT_ONCE = 2

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true })

/** What has waited longer than `maxWaitMs` is not resolved at all: its request has given up by then. */
export function limitLookups(lookup: Lookup, maxWaitMs: number): Lookup {
  const waiting: (() => void)[] = []
  let running = 0
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  return async (hostname) => {
    const since = performance.now()
    if (running < AT_ONCE) running += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      if (performance.now() - since > maxWaitMs) {
        throw new OutgoingError('outgoing.timeout', hostname, 'no answer in time')
      }
      return await lookup(hostname)
    } finally {
      leave()
    }
  }
}
