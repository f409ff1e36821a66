/**
 * The keys of a realm as they are published: never without the one that signs next, so that whoever has read them once
 * knows the key of the next rotation. Where a realm has none yet, it is made by the first who reads.
 */

import type { RealmKeySet } from '#server/keys/realm-keys.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import type { OidcParts } from './parts.ts'

export type PublishedKeysParts = Pick<OidcParts, 'issuers' | 'realmKeys' | 'signingKeys' | 'clock'>

/** Making a key is work: one that could not be kept is not tried for at the pace of whoever asks. */
const againMs = 60_000

export const createPublishedKeys = ({
  issuers,
  realmKeys,
  signingKeys,
  clock,
}: PublishedKeysParts): ((issuer: Issuer) => Promise<RealmKeySet>) => {
  const underWay = new Map<string, Promise<void>>()
  const failedAt = new Map<string, number>()

  const prepare = (realm: string): Promise<void> => {
    const before = underWay.get(realm)
    if (before !== undefined) return before
    const work = signingKeys
      .prepare({ realm, clientId: null })
      .catch(() => {
        failedAt.set(realm, clock.now())
      })
      .finally(() => underWay.delete(realm))
    underWay.set(realm, work)
    return work
  }

  return async (issuer) => {
    const keys = await realmKeys.of(issuer.view)
    const { name } = issuer
    if (keys.hasNext || clock.now() - (failedAt.get(name) ?? 0) < againMs) return keys
    await prepare(name)
    const now = await issuers.known(name)
    return now ? realmKeys.of(now.view) : keys
  }
}
