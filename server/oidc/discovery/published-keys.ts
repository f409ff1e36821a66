/**
 * The keys of a realm as they are published: with the one that signs next, so that whoever has read them once knows the
 * key of the next rotation. Where a realm has none yet, it is made by the first who reads. The first key of a realm is
 * not published without it: the second one may sign at once, whoever has read the first.
 */

import { Problem } from '#schemas/problems.ts'
import type { RealmKeySet, RealmKeys } from '#server/keys/realm-keys.ts'
import type { SigningKeys } from '#server/keys/rotation.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Issuer, Issuers } from '#server/tokens/realm.ts'

export interface PublishedKeysParts {
  readonly issuers: Issuers
  readonly realmKeys: RealmKeys
  readonly signingKeys: Pick<SigningKeys, 'prepare'>
  readonly clock: Clock
}

/** Making a key is work: one that could not be kept is not tried for at the pace of whoever asks. */
const againSeconds = 10

interface Failed {
  readonly at: number
  readonly cause: unknown
}

export const createPublishedKeys = ({
  issuers,
  realmKeys,
  signingKeys,
  clock,
}: PublishedKeysParts): ((issuer: Issuer) => Promise<RealmKeySet>) => {
  const underWay = new Map<string, Promise<void>>()
  const failed = new Map<string, Failed>()

  const prepare = (realm: string): Promise<void> => {
    const before = underWay.get(realm)
    if (before !== undefined) return before
    const work = signingKeys
      .prepare({ realm, clientId: null })
      .catch((cause) => {
        failed.set(realm, { at: clock.now(), cause })
      })
      .finally(() => underWay.delete(realm))
    underWay.set(realm, work)
    return work
  }

  /** With the next one, if it can be made. */
  const preparedKeys = async (issuer: Issuer): Promise<RealmKeySet> => {
    const keys = await realmKeys.of(issuer.view)
    const { name } = issuer
    if (keys.hasNext || clock.now() - (failed.get(name)?.at ?? 0) < againSeconds * 1000) return keys
    await prepare(name)
    const now = await issuers.known(name)
    return now ? realmKeys.of(now.view) : keys
  }

  return async (issuer) => {
    const keys = await preparedKeys(issuer)
    if (keys.hasNext || !keys.isFirst) return keys
    throw new Problem('unavailable', 'The next signing key of the realm could not be made yet.', {
      cause: failed.get(issuer.name)?.cause,
      extra: { retryAfter: againSeconds },
    })
  }
}
