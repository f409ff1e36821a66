/** Names in a list of users to import: finds names that are taken, and duplicates. */

import type { Kysely } from 'kysely'
import type { FieldError } from '#schemas/problems.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { foldName } from '#server/users/names.ts'
import type { UserFields } from '#server/users/user-record.ts'

type Named = Pick<UserFields, 'username'> & Partial<Pick<UserFields, 'email'>>

export const inSlices = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size),
  )

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
  db: Kysely<Tables>,
  realm: string,
  users: readonly Named[],
): Promise<Names> => {
  const owners = new Map<string, string>()
  const wanted = users.flatMap(namesOf).flatMap(({ name }) => (refusal(name) ? [] : [name]))
  for (const slice of inSlices(wanted, 1000)) {
    const rows = await db
      .selectFrom('user_names')
      .select(['name', 'user_id'])
      .where('realm', '=', realm)
      .where('name', 'in', slice)
      .execute()
    for (const row of rows) owners.set(row.name, row.user_id)
  }
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
