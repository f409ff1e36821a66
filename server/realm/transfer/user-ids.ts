/**
 * The ids that users had in an export (`?ids=true`). An import into the realm of the same name gives them back to the users that
 * it makes again: applications know a user by what is made of the id, the subject of tokens and the persistent NameID of SAML
 * (Core §8.3.7). An id in use, in this realm or in another, is never given a second time.
 */

import type { Kysely } from 'kysely'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { isUuid } from '#server/platform/ids.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

const membersOf = (value: unknown): readonly [string, unknown][] =>
  isObject(value) ? Object.entries(value) : []

/** By username. */
const statedIn = ({ meta }: Doc): Map<string, string> => {
  const { documents, unmanagedUsers } = isObject(meta) ? meta : {}
  const managed = isObject(documents) ? documents[User.kind] : undefined
  const ids = new Map<string, string>()
  for (const [username, stated] of [...membersOf(managed), ...membersOf(unmanagedUsers)]) {
    const id = isObject(stated) ? stated['id'] : undefined
    if (typeof id === 'string' && isUuid(id)) ids.set(username, id.toLowerCase())
  }
  return ids
}

/** The ids of the export that are free, by username; of an export that states none, or two users with one id, none. */
export const freeUserIds = async (
  db: Kysely<Tables>,
  realm: string,
  exported: Doc,
): Promise<ReadonlyMap<string, string>> => {
  if (exported['realm'] !== realm) return new Map()
  const stated = statedIn(exported)
  const ids = [...new Set(stated.values())]
  if (ids.length === 0 || ids.length < stated.size) return new Map()
  const users = await readInSlices(ids, (part) =>
    db.selectFrom('users').select('id').where('id', 'in', part).execute(),
  )
  const documents = await readInSlices(ids, (part) =>
    db.selectFrom('documents').select('id').where('id', 'in', part).execute(),
  )
  const taken = new Set([...users, ...documents].map(({ id }) => id))
  return new Map([...stated].filter(([, id]) => !taken.has(id)))
}
