/** Bearer tokens that let others provision: initial access tokens (RFC 7591 §3) and SCIM tokens. Stored as digests. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { ProvisioningTokenRow } from '#server/storage/tables/provisioning-tables.ts'

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

/** The token with this digest, while it is good. */
export const findProvisioningToken = (
  { db }: Db,
  { realm, purpose, hash }: Pick<ProvisioningTokenRow, 'realm' | 'purpose' | 'hash'>,
  now: number,
): Promise<ProvisioningTokenRow | undefined> =>
  db
    .selectFrom('provisioning_tokens')
    .selectAll()
    .where('hash', '=', hash)
    .where('realm', '=', realm)
    .where('purpose', '=', purpose)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .where((eb) => eb.or([eb('remaining', 'is', null), eb('remaining', '>', 0)]))
    .executeTakeFirst()

/** Its failure is the answer (server/realm/write/write.ts). */
export const usedUpGuard = 'final:initial-access-token'

/** One use less; fails its guard where none is left, or the token was revoked meanwhile. */
export const spendProvisioningToken = (
  { db }: Db,
  { id }: Pick<ProvisioningTokenRow, 'id'>,
): Statement =>
  guarded(
    db
      .updateTable('provisioning_tokens')
      .set((eb) => ({ remaining: eb('remaining', '-', 1) }))
      .where('id', '=', id)
      .where((eb) => eb.or([eb('remaining', 'is', null), eb('remaining', '>', 0)])),
    usedUpGuard,
  )

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
