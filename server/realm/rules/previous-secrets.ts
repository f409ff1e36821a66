/**
 * The secret that a client or a webhook had before its present one, kept while it is still accepted: the other side can
 * follow a replacement without a failure.
 */

import type { Statement, Storage } from '#server/storage/contract.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import { statement } from '#server/storage/statements.ts'
import type { ClientSecretRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

/** When the present secret was made, and the one before; a former one that is not to be accepted is no longer kept. */
export interface Replacement {
  readonly now: number
  readonly previous: StoredSecret | undefined
  readonly graceMs: number
}

const columnsOf = ({ now, previous, graceMs }: Replacement) => {
  const isKept = graceMs > 0 && previous !== undefined
  return {
    created_at: now,
    previous: isKept ? JSON.stringify(previous) : null,
    previous_expires_at: isKept ? now + graceMs : null,
  }
}

export const keepClientSecret = (
  { db }: Db,
  { id, realm }: Pick<StoredDocument, 'id' | 'realm'>,
  replacement: Replacement,
): Statement => {
  const columns = columnsOf(replacement)
  return statement(
    db
      .insertInto('client_secrets')
      .values({ client_id: id, realm, ...columns })
      .onConflict((conflict) => conflict.column('client_id').doUpdateSet(columns)),
  )
}

/** Undefined where the secret was never replaced. */
export const replacedClientSecret = (
  { db }: Db,
  clientId: string,
): Promise<ClientSecretRow | undefined> =>
  db.selectFrom('client_secrets').selectAll().where('client_id', '=', clientId).executeTakeFirst()

/** The secret before, while it is accepted. */
export const previousClientSecret = async (
  { db }: Db,
  clientId: string,
  now: number,
): Promise<StoredSecret | undefined> => {
  const row = await db
    .selectFrom('client_secrets')
    .select('previous')
    .where('client_id', '=', clientId)
    .where('previous_expires_at', '>', now)
    .executeTakeFirst()
  return row?.previous ? (JSON.parse(row.previous) as StoredSecret) : undefined
}

export const keepWebhookSecret = (
  { db }: Db,
  { id, realm }: Pick<StoredDocument, 'id' | 'realm'>,
  replacement: Replacement,
): Statement => {
  const columns = columnsOf(replacement)
  return statement(
    db
      .insertInto('webhook_secrets')
      .values({ webhook_id: id, realm, ...columns })
      .onConflict((conflict) => conflict.column('webhook_id').doUpdateSet(columns)),
  )
}

/** The secrets before, by the id of the webhook, as far as they are accepted. */
export const previousWebhookSecrets = async (
  { db }: Db,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, StoredSecret>> => {
  const rows = await db
    .selectFrom('webhook_secrets')
    .select(['webhook_id', 'previous'])
    .where('webhook_id', 'in', ids)
    .where('previous_expires_at', '>', now)
    .execute()
  return new Map(
    rows.flatMap(({ webhook_id, previous }) =>
      previous === null ? [] : [[webhook_id, JSON.parse(previous) as StoredSecret]],
    ),
  )
}
