/** Secrets that were fetched, by the place that each is for. */

import type { SecretPlace } from '#schemas/wire/wire.ts'
import type { SecretOf } from '../changeset.ts'

export interface FetchedSecret {
  readonly realm: string
  readonly place: SecretPlace
  /** Absent where it could not be had. */
  readonly value: string | null | undefined
}

const keyOf = (realm: string, { kind, key, pointer }: SecretPlace): string =>
  `${realm}\n${kind}\n${key}\n${pointer}`

export const secretsAtHand = (fetched: readonly FetchedSecret[]): SecretOf => {
  const values = new Map(fetched.map(({ realm, place, value }) => [keyOf(realm, place), value]))
  return (realm, place) => {
    const value = values.get(keyOf(realm, place))
    if (value === undefined || value === null)
      throw new Error(
        `the secret ${place.pointer} of ${place.kind} "${place.key}" in realm ${realm} is not at hand`,
      )
    return value
  }
}
