/** What the tokens of senders may do, and when they were used last. A token without a row is older than these: it may do all. */

import { defaultScimSender, type ScimScope, scimScopes } from '#schemas/wire/scim.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { ScimTokenRow } from '#server/storage/tables/scim-in-tables.ts'

type Db = Pick<Storage, 'db'>

/** Tokens are used by the second; the time is kept by the minute. */
const lastUseMs = 60_000

/** What a sender authenticates with. */
export interface ScimToken {
  readonly id: string
  readonly kind: 'SCIM token' | 'access token'
  readonly sender: string
  readonly scopes: readonly ScimScope[]
}

export const insertScimToken = ({ db }: Db, row: ScimTokenRow): Statement[] =>
  insertRows(db, 'scim_tokens', [row])

export const scimTokenRows = ({ db }: Db, ids: readonly string[]): Promise<ScimTokenRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : db.selectFrom('scim_tokens').selectAll().where('token_id', 'in', ids).execute()

export const scopesOf = (row: Pick<ScimTokenRow, 'scopes'> | undefined): readonly ScimScope[] =>
  row ? scimScopes.filter((scope) => row.scopes.split(' ').includes(scope)) : scimScopes

const byHash = preparedQuery('scim-token', (db, { hash }: { hash: string }) =>
  db
    .selectFrom('provisioning_tokens')
    .leftJoin('scim_tokens', 'scim_tokens.token_id', 'provisioning_tokens.id')
    .select(['id', 'realm', 'purpose', 'expires_at', 'sender', 'scopes', 'last_used_at'])
    .where('hash', '=', hash),
)

/** The digests of the realm's tokens, good and expired. */
export const scimTokenHashes = async ({ db }: Db, realm: string): Promise<ReadonlySet<string>> => {
  const rows = await db
    .selectFrom('provisioning_tokens')
    .select('hash')
    .where('realm', '=', realm)
    .where('purpose', '=', 'scim')
    .execute()
  return new Set(rows.map(({ hash }) => hash))
}

/** The token of this digest, if it is one of the realm and has not expired; and the statement that notes its use, if one is due. */
export const findScimToken = async (
  { db }: Db,
  { realm, hash, now }: { readonly realm: string; readonly hash: string; readonly now: number },
): Promise<{ readonly token: ScimToken; readonly use: readonly Statement[] } | undefined> => {
  const [row] = await byHash(db, { hash })
  if (row?.realm !== realm || row.purpose !== 'scim') return undefined
  if (row.expires_at !== null && row.expires_at <= now) return undefined
  const { id, sender, scopes, last_used_at } = row
  const isDue = scopes !== null && (last_used_at ?? 0) <= now - lastUseMs
  return {
    token: {
      id,
      kind: 'SCIM token',
      sender: sender ?? defaultScimSender,
      scopes: scopesOf(scopes === null ? undefined : { scopes }),
    },
    use: isDue
      ? [
          statement(
            db.updateTable('scim_tokens').set({ last_used_at: now }).where('token_id', '=', id),
          ),
        ]
      : [],
  }
}
