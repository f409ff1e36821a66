/** The row of a grant, which its code and its refresh tokens name. */

import type { Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'

/** A failed one means a concurrent write. */
export const grantGuard = 'token-grant'

export const findGrant = preparedQuery('grant', (db, { id }: { id: string }) =>
  db.selectFrom('token_grants').selectAll().where('id', '=', id),
)

export const touchGrant = preparedStatement((db, { id, now }: { id: string; now: number }) =>
  db.updateTable('token_grants').set({ last_used_at: now }).where('id', '=', id),
)

/** The grant with this id, where it is one of the realm. */
export const grantIn = async (
  db: Storage['db'],
  realm: string,
  id: string | undefined,
): Promise<TokenGrantRow | undefined> => {
  const [grant] = id === undefined ? [] : await findGrant(db, { id })
  return grant?.realm === realm ? grant : undefined
}
