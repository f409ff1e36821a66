/** Names in a list of users to import: finds names that are taken, and duplicates. */

import type { FieldError } from '#schemas/problems.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import type { Storage } from '#server/storage/contract.ts'
import { refusal } from '#server/storage/values.ts'
import { foldName } from '#server/users/names.ts'
import { ownersOfNames } from '#server/users/user-rows.ts'

type Named = Pick<UserFields, 'username'> & Partial<Pick<UserFields, 'email'>>

/** What a user would sign in with, by the field that says it; both compete for the same names. */
const namesOf = ({ username, email }: Named): { field: string; name: string }[] => [
  { field: 'username', name: foldName(username) },
  ...(typeof email === 'string' ? [{ field: 'email', name: foldName(email) }] : []),
]

export interface Names {
  /** Takes the names of the row at the place, which may be those of `self`; says which it cannot have. */
  claim(place: string, user: Named, self: string | undefined): FieldError[]
}

export const openNames = async (
  storage: Pick<Storage, 'db'>,
  realm: string,
  users: readonly Named[],
): Promise<Names> => {
  const wanted = users.flatMap(namesOf).flatMap(({ name }) => (refusal(name) ? [] : [name]))
  const owners = await ownersOfNames(storage, realm, wanted)
  const claimed = new Map<string, string>()
  return {
    claim: (place, user, self) =>
      namesOf(user).flatMap(({ field, name }) => {
        const owner = owners.get(name)
        const first = claimed.get(name) ?? place
        claimed.set(name, first)
        const taken = owner !== undefined && owner !== self
        if (!taken && first === place) return []
        const message = taken ? 'is taken' : 'is in the list twice'
        return [{ field: `${place}/${field}`, code: 'duplicate', message }]
      }),
  }
}
