/** Bearer tokens that let others provision: initial access tokens (RFC 7591 §3) and SCIM tokens. Stored as digests. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { ProvisioningTokenRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>
type Purpose = ProvisioningTokenRow['purpose']

export const insertProvisioningToken = ({ db }: Db, row: ProvisioningTokenRow): Statement[] =>
  insertRows(db, 'provisioning_tokens', [row])

/** Newest first. */
export const listProvisioningTokens = (
  { db }: Db,
  realm: string,
  purpose: Purpose,
): Promise<ProvisioningTokenRow[]> =>
  db
    .selectFrom('provisioning_tokens')
    .selectAll()
    .where('realm', '=', realm)
    .where('purpose', '=', purpose)
    .orderBy('created_at', 'desc')
    .execute()

/** Fails the guard `token` where the realm has no such token. */
export const deleteProvisioningToken = (
  { db }: Db,
  { id, realm, purpose }: Pick<ProvisioningTokenRow, 'id' | 'realm' | 'purpose'>,
): Statement =>
  guarded(
    db
      .deleteFrom('provisioning_tokens')
      .where('id', '=', id)
      .where('realm', '=', realm)
      .where('purpose', '=', purpose),
    'token',
  )
