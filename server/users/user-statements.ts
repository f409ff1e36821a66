/** Changes of single columns of the table `users`, as statements for the transaction of the act they belong to. */

import type { SelectQueryBuilder } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, inSlices, statement } from '#server/storage/statements.ts'
import type { Tables, UserRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>
type UserIds = SelectQueryBuilder<Tables, 'users', { id: string }>

/** Writes the row as it is, which locks it until the commit. */
const sameVersion = ({ db }: Db) =>
  db.updateTable('users').set((eb) => ({ version: eb.ref('version') }))

/** Locks the user, so that of two writes at once the second sees the first. Fails the guard `user:<id>` without one. */
export const holdUser = (storage: Db, id: string): Statement =>
  guarded(sameVersion(storage).where('id', '=', id), `user:${id}`)

/** Locks the one user that the query selects, and fails the guard where it selects none. */
export const holdSelectedUser = (storage: Db, selected: UserIds, guard: string): Statement =>
  guarded(sameVersion(storage).where('id', 'in', selected), guard)

/** Fails the guard `user:<id>` when the user has changed since it was read. */
export const setRequiredActions = (
  { db }: Db,
  { id, version }: UserRow,
  actions: readonly string[],
): Statement =>
  guarded(
    db
      .updateTable('users')
      .set({ required_actions: JSON.stringify(actions), version: version + 1 })
      .where('id', '=', id)
      .where('version', '=', version),
    `user:${id}`,
  )

/** The lock that an administrator sets. */
export const setLocked = ({ db }: Db, id: string, locked: boolean): Statement =>
  statement(
    db
      .updateTable('users')
      .set((eb) => ({ locked: locked ? 1 : 0, version: eb('version', '+', 1) }))
      .where('id', '=', id),
  )

/** Users who are no longer declared in a file; nothing else of them changes. */
export const releaseUsers = ({ db }: Db, ids: readonly string[], now: number): Statement[] =>
  inSlices(ids).map((part) =>
    guarded(
      db
        .updateTable('users')
        .set((eb) => ({ managed: 0, version: eb('version', '+', 1), updated_at: now }))
        .where('id', 'in', part),
      'users',
      part.length,
    ),
  )

/** Rows that refer to the users are deleted with them. */
export const deleteUsers = ({ db }: Db, ids: readonly string[]): Statement[] =>
  inSlices(ids).map((part) =>
    guarded(db.deleteFrom('users').where('id', 'in', part), 'users', part.length),
  )
