/**
 * Wrong tokens are limited per address, so that a flood of them costs little. A sender with a good token behind the same address is
 * served all the same: once an address has used up its wrong tokens, the others are compared with the digests of the realm's
 * tokens in memory, and only one that is among them is looked up.
 */

import { setTimeout } from 'node:timers/promises'
import { Problem } from '#schemas/problems.ts'
import { addressGroup } from '#server/http/client-address.ts'
import { createMemoryLimiter } from '#server/http/rate-limit.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import { scimTokenHashes } from './tokens.ts'

/** Refused tokens of an address: more at once than a sender with an old token sends, fewer than a guesser. */
const addressLimit = { limit: 10, seconds: 1, burst: 50 }
/** Time between two reads of the digests; who asks in between waits for the next one. */
const pauseMs = 50

/** The digests of one realm: those of the last read, and the read that is to come. */
interface Digests {
  known: ReadonlySet<string>
  next: Promise<ReadonlySet<string>> | undefined
}

export interface RefusedTokens {
  /** Throws a 429 where the address has sent too many wrong tokens, and this one is wrong too. */
  refuseFlood(ip: string, realm: string, hash: string): Promise<void>
  /** Counts a wrong token. Throws a 429 where they are too many. */
  count(ip: string): Promise<void>
}

export const createRefusedTokens = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): RefusedTokens => {
  const limiter = createMemoryLimiter(clock, addressLimit)
  const ofRealms = new Map<string, Digests>()

  const readNext = async (realm: string, digests: Digests): Promise<ReadonlySet<string>> => {
    await setTimeout(pauseMs)
    digests.next = undefined
    const read = await scimTokenHashes(storage, realm)
    digests.known = read
    return read
  }

  /** Whether the realm has such a token, as of a moment after the question. */
  const isToken = async (realm: string, hash: string): Promise<boolean> => {
    const digests = ofRealms.get(realm) ?? { known: new Set(), next: undefined }
    ofRealms.set(realm, digests)
    if (digests.known.has(hash)) return true
    digests.next ??= readNext(realm, digests)
    return (await digests.next).has(hash)
  }

  const tooMany = (retryAfter: number): Problem =>
    new Problem('rate-limited', `Too many wrong tokens; try again in ${retryAfter} s.`, {
      extra: { retryAfter },
    })

  return {
    refuseFlood: async (ip, realm, hash) => {
      const key = addressGroup(ip)
      const wait = await limiter.take(key)
      if (wait === 0) await limiter.give(key)
      else if (!(await isToken(realm, hash))) throw tooMany(wait)
    },
    count: async (ip) => {
      const wait = await limiter.take(addressGroup(ip))
      if (wait > 0) throw tooMany(wait)
    },
  }
}
