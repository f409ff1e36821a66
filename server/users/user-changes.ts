/**
 * Changes of users, for those who keep other services equal to them. Every function of this folder that writes users or their
 * groups notes the users in the same transaction, for every caller; in a realm without SCIM targets that is one look at an index.
 */

import { type Kysely, type Selectable, sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { inSlices, statement, uncounted } from '#server/storage/statements.ts'
import type { UserChangeRow } from '#server/storage/tables/scim-tables.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

export type UserChange = Selectable<UserChangeRow>

const noting = (db: Kysely<Tables>, ids: readonly string[]) => {
  const query = sql`insert into user_changes (realm, user_id)
    select users.realm, users.id from users where users.id in (${sql.join(ids)})
      and exists (select 1 from documents
        where documents.realm = users.realm and documents.kind = 'scim-target')`
  return { compile: () => query.compile(db) }
}

const noteOne = preparedStatement((db, { id }: { id: string }) => noting(db, [id]))

/** While the users are in their table: after an insert, before a deletion. */
export const noteUserChanges = ({ db }: Db, ids: readonly string[]): Statement[] => {
  const [id, ...others] = ids
  if (id !== undefined && others.length === 0) return [uncounted(noteOne(db, { id }))]
  return inSlices(ids).map((part) => statement(noting(db, part)))
}

/** The oldest that were noted. */
export const notedUserChanges = ({ db }: Db, max: number): Promise<UserChange[]> =>
  db.selectFrom('user_changes').selectAll().orderBy('id').limit(max).execute()

/** Of any number of nodes that forget the same changes, each forgets them; what they mark is the same. */
export const forgetUserChanges = ({ db }: Db, ids: readonly number[]): Statement[] =>
  inSlices(ids).map((part) => statement(db.deleteFrom('user_changes').where('id', 'in', part)))
