/** Rows of the table `credentials`: reads, and changes as statements for the transaction of the act they belong to. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

/** What is sealed in a credential does not open for another realm or record. */
export const credentialContext = (realm: string, id: string): string => `${realm}/credential/${id}`

/** Preferred ones first, then in the order in which they were made. */
export const credentialsOf = ({ db }: Db, userId: string): Promise<CredentialRow[]> =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('priority')
    .orderBy('created_at')
    .orderBy('id')
    .execute()

export const passwordOf = ({ db }: Db, userId: string): Promise<CredentialRow | undefined> =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', userId)
    .where('type', '=', 'password')
    .executeTakeFirst()

export const credentialTypesOf = (
  { db }: Db,
  userIds: readonly string[],
): Promise<Pick<CredentialRow, 'user_id' | 'type'>[]> =>
  readInSlices(userIds, (part) =>
    db.selectFrom('credentials').select(['user_id', 'type']).where('user_id', 'in', part).execute(),
  )

export const insertCredentials = ({ db }: Db, rows: readonly CredentialRow[]): Statement[] =>
  insertRows(db, 'credentials', rows)

/** Counts up to `used`, and fails the guard where the credential has counted as far already. */
export const advanceCredential = (
  { db }: Db,
  { id }: Pick<CredentialRow, 'id'>,
  used: number,
  guard: string,
): Statement =>
  guarded(
    db.updateTable('credentials').set({ used }).where('id', '=', id).where('used', '<', used),
    guard,
  )

/** Fails the guard where the secret was replaced since the credential was read. */
export const changeSecret = (
  { db }: Db,
  { id, secret: before }: Pick<CredentialRow, 'id' | 'secret'>,
  secret: string,
  guard: string,
): Statement =>
  guarded(
    db.updateTable('credentials').set({ secret }).where('id', '=', id).where('secret', '=', before),
    guard,
  )

/** All credentials of one type that a user has. */
export const deleteCredentials = ({ db }: Db, userId: string, type: string): Statement =>
  statement(db.deleteFrom('credentials').where('user_id', '=', userId).where('type', '=', type))
