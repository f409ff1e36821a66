/** Rows of the table `users`: reads, and changes as statements for the transaction of the act they belong to. */

import type { SelectQueryBuilder } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Dialect } from '#server/storage/dialect.ts'
import { isStorable, readInSlices } from '#server/storage/documents/reads.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { guarded, held, inSlices, statement } from '#server/storage/statements.ts'
import type { Tables, UserRow } from '#server/storage/tables/tables.ts'
import { countDepartures } from './group-versions.ts'
import { noteUserChanges } from './user-changes.ts'

type Db = Pick<Storage, 'db'>
type UserIds = SelectQueryBuilder<Tables, 'users', { id: string }>

/** Of whatever realm. */
export const userById = ({ db }: Db, id: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()

/** Of whatever realms. */
export const usersByIds = ({ db }: Db, ids: readonly string[]): Promise<UserRow[]> =>
  readInSlices(ids, (part) => db.selectFrom('users').selectAll().where('id', 'in', part).execute())

export const usersIn = (
  { db }: Db,
  realm: string,
  column: 'id' | 'username_key',
  values: readonly string[],
): Promise<UserRow[]> =>
  readInSlices(values.filter(isStorable), (part) =>
    db
      .selectFrom('users')
      .selectAll()
      .where('realm', '=', realm)
      .where(column, 'in', part)
      .execute(),
  )

/** The ids of the users who have these names, by folded name. */
export const ownersOfNames = async (
  { db }: Db,
  realm: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const rows = await readInSlices(names, (part) =>
    db
      .selectFrom('user_names')
      .select(['name', 'user_id'])
      .where('realm', '=', realm)
      .where('name', 'in', part)
      .execute(),
  )
  return new Map(rows.map(({ name, user_id }) => [name, user_id]))
}

/** Selects the user while nothing keeps them from signing in: a write that disables them comes before or after. */
export const userWhoMaySignIn = (dialect: Dialect) =>
  preparedStatement((db, { id }: { id: string }) =>
    held(
      dialect,
      db
        .selectFrom('users')
        .select('id')
        .where('id', '=', id)
        .where('enabled', '=', 1)
        .where('locked', '=', 0),
    ),
  )

/** Other writes that hold one of the users come before or after. In one order, so that no two wait for each other. */
export const holdUsers = (
  { db, dialect }: Pick<Storage, 'db' | 'dialect'>,
  ids: readonly string[],
): Statement =>
  statement(
    held(
      dialect,
      db
        .selectFrom('users')
        .select('id')
        .where('id', 'in', [...ids])
        .orderBy('id'),
    ),
  )

/** Writes the row as it is, which locks it until the commit. */
const sameVersion = ({ db }: Db) =>
  db.updateTable('users').set((eb) => ({ version: eb.ref('version') }))

/** Locks the user, so that of two writes at once the second sees the first. Fails the guard `user:<id>` without one. */
export const holdUser = (storage: Db, id: string): Statement =>
  guarded(sameVersion(storage).where('id', '=', id), `user:${id}`)

/** Locks the user, and fails the guard where they changed since the row was read, or are gone. */
export const holdUserVersion = (
  storage: Db,
  { id, version }: Pick<UserRow, 'id' | 'version'>,
  guard: string,
): Statement =>
  guarded(sameVersion(storage).where('id', '=', id).where('version', '=', version), guard)

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
export const setLocked = ({ db }: Db, id: string, locked: boolean): Statement[] => [
  statement(
    db
      .updateTable('users')
      .set((eb) => ({ locked: locked ? 1 : 0, version: eb('version', '+', 1) }))
      .where('id', '=', id),
  ),
  ...noteUserChanges({ db }, [id]),
]

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
export const deleteUsers = ({ db }: Db, ids: readonly string[], now: number): Statement[] => [
  ...noteUserChanges({ db }, ids),
  ...countDepartures({ db }, ids, now),
  ...inSlices(ids).map((part) =>
    guarded(db.deleteFrom('users').where('id', 'in', part), 'users', part.length),
  ),
]

/** The ids of the users of a realm in their order, after one of them. */
export const userIdsAfter = async (
  { db }: Db,
  realm: string,
  after: string,
  max: number,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('realm', '=', realm)
    .where('id', '>', after)
    .orderBy('id')
    .limit(max)
    .execute()
  return rows.map(({ id }) => id)
}
