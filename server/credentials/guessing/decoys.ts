/**
 * Decoy hashes for unknown usernames. Imported hashes cost more or less than ours, so one decoy for all names would reveal
 * imported users by the response time. Here a name gets a decoy like one of the hashes of the realm, the same for a name on
 * every node: the response time does not tell for certain whether a user exists.
 */

import { createHmac, createSecretKey } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { likenessOf } from '#server/platform/passwords/likeness.ts'
import type { Storage } from '#server/storage/contract.ts'
import { foldName } from '#server/users/names.ts'

export interface Decoys {
  /** What to verify in the place of a hash; undefined in a realm without any, where ours is as good as another. */
  of(realm: string, name: string): Promise<string | undefined>
  /** Learns from a hash that is verified what others may cost. */
  saw(realm: string, hash: string): void
}

export interface DecoyParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  /** The same on every node: a decoy that differs by node would reveal that the name is unknown. */
  readonly key: Uint8Array
}

/** Of so many hashes the costs are looked at; of others they are learned when they are verified. */
const sampleSize = 400
/** After that, costs of hashes that were imported or replaced meanwhile are known. */
const lookAgainMs = 60_000
const mostCosts = 8
const mostRealms = 1000

interface Known {
  readonly costs: Set<string>
  sampledAt: number
  sampling: Promise<void>
}

export const createDecoys = ({ storage: { db }, clock, key: bytes }: DecoyParts): Decoys => {
  const key = createSecretKey(bytes)
  const known = new Map<string, Known>()

  const knownOf = (realm: string): Known => {
    const before = known.get(realm)
    if (before) return before
    const [oldest] = known.keys()
    if (known.size >= mostRealms && oldest !== undefined) known.delete(oldest)
    const made: Known = { costs: new Set(), sampledAt: 0, sampling: Promise.resolve() }
    known.set(realm, made)
    return made
  }

  const add = (costs: Set<string>, hash: string): void => {
    const like = likenessOf(hash)
    if (like !== undefined && costs.size < mostCosts) costs.add(like)
  }

  const sample = async (realm: string, costs: Set<string>): Promise<void> => {
    const rows = await db
      .selectFrom('credentials')
      .select('secret')
      .where('realm', '=', realm)
      .where('type', '=', 'password')
      .limit(sampleSize)
      .execute()
    // Where these are all that there are, what was learned before may be gone.
    if (rows.length < sampleSize) costs.clear()
    for (const { secret } of rows) add(costs, secret)
  }

  return {
    saw: (realm, hash) => add(knownOf(realm).costs, hash),
    async of(realm, name) {
      const it = knownOf(realm)
      const now = clock.now()
      if (now - it.sampledAt >= lookAgainMs) {
        it.sampledAt = now
        it.sampling = sample(realm, it.costs).catch((error) => {
          it.sampledAt = 0
          throw error
        })
      }
      await it.sampling
      const drawn = createHmac('sha256', key)
        .update(`${realm}\n${foldName(name)}`)
        .digest()
      // Sorted: nodes need not have met them in the same order.
      return [...it.costs].sort()[drawn.readUInt32BE() % it.costs.size]
    },
  }
}
