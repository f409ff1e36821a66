/**
 * Resolving host names with a limit on how many are resolved at once. getaddrinfo occupies a thread
 * of libuv's pool until it answers; a few names with a slow name server would hold all of them, and
 * signing and hashing would stand still. Nor do such names hold up the others: names whose last lookup
 * was slow share one place, and names that wait beside them come first.
 */

import { lookup as systemLookup } from 'node:dns/promises'
import { OutgoingError } from './errors.ts'

export interface ResolvedAddress {
  address: string
  family: number
}

export type Lookup = (hostname: string) => Promise<ResolvedAddress[]>

const AT_ONCE = 2
/** A name server that is there answers sooner; resolvers wait for one that is not for five seconds and more. */
const SLOW_MS = 1000
const MOST_SLOW = 1000

export const lookupBySystem: Lookup = (hostname) => systemLookup(hostname, { all: true })

interface Waiting {
  readonly hostname: string
  readonly begin: () => void
}

/** What has waited longer than `maxWaitMs` is not resolved at all: its request has given up by then. */
export function limitLookups(lookup: Lookup, maxWaitMs: number): Lookup {
  const waiting: Waiting[] = []
  const running = new Map<string, Promise<ResolvedAddress[]>>()
  const slow = new Set<string>()

  const mayBegin = (hostname: string): boolean => {
    if (running.has(hostname)) return true
    const isHeld = slow.has(hostname) && [...running.keys()].some((one) => slow.has(one))
    return running.size < AT_ONCE && !isHeld
  }

  const noteSlow = (hostname: string): void => {
    const [oldest = ''] = slow
    if (slow.size >= MOST_SLOW) slow.delete(oldest)
    slow.add(hostname)
  }

  /** Requests for the same name at the same moment are one lookup. */
  const start = (hostname: string): Promise<ResolvedAddress[]> => {
    const known = running.get(hostname)
    if (known !== undefined) return known
    const since = performance.now()
    const timer = setTimeout(() => noteSlow(hostname), SLOW_MS).unref()
    const work = lookup(hostname).finally(() => {
      clearTimeout(timer)
      if (performance.now() - since < SLOW_MS) slow.delete(hostname)
      running.delete(hostname)
      beginWaiting()
    })
    running.set(hostname, work)
    return work
  }

  /** Names that are not slow come first. */
  const next = (): number => {
    const other = waiting.findIndex(({ hostname }) => !slow.has(hostname) && mayBegin(hostname))
    return other === -1 ? waiting.findIndex(({ hostname }) => mayBegin(hostname)) : other
  }

  const beginWaiting = (): void => {
    for (let at = next(); at !== -1; at = next()) waiting.splice(at, 1)[0]?.begin()
  }

  return (hostname) => {
    if (mayBegin(hostname)) return start(hostname)
    const since = performance.now()
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        if (performance.now() - since > maxWaitMs)
          reject(new OutgoingError('outgoing.timeout', hostname, 'no answer in time'))
        else start(hostname).then(resolve, reject)
      }
      waiting.push({ hostname, begin })
    })
  }
}
