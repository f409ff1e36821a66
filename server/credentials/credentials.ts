/** The rows of the table `credentials`, as statements for the transaction of the act they belong to. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

/** What is sealed in a credential does not open for another realm or record. */
export const credentialContext = (realm: string, id: string): string => `${realm}/credential/${id}`

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
