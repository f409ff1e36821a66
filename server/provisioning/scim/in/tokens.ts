/** What the tokens of senders may do, and when they were used last. A token without a row is older than these: it may do all. */

import { defaultScimSender, type ScimScope, scimScopes } from '#schemas/wire/scim.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { ScimTokenRow } from '#server/storage/tables/scim-in-tables.ts'
import { deleteProvisioningToken } from '../../provisioning-tokens.ts'

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

/** Revoked at once on every node: the realm has changed, and what was kept of its tokens is read again. */
export const revokeScimToken = (
  storage: Storage,
  { id, realm }: { readonly id: string; readonly realm: string },
): Statement[] => [
  deleteProvisioningToken(storage, { id, realm, purpose: 'scim' }),
  ...touchStatements(storage, realm, [{ kind: 'scim-token', key: id }]),
]

/** A token that was found, until the realm changes. */
interface KnownToken {
  readonly token: ScimToken
  readonly expiresAt: number | null
  /** When its use was last noted; none of a token that has no place for it. */
  notedAt: number | undefined
}

const readToken = async (
  { db }: Db,
  realm: string,
  hash: string,
): Promise<KnownToken | undefined> => {
  const [row] = await byHash(db, { hash })
  if (row?.realm !== realm || row.purpose !== 'scim') return undefined
  const { id, sender, scopes, expires_at: expiresAt, last_used_at } = row
  return {
    token: {
      id,
      kind: 'SCIM token',
      sender: sender ?? defaultScimSender,
      scopes: scopesOf(scopes === null ? undefined : { scopes }),
    },
    expiresAt,
    notedAt: scopes === null ? undefined : (last_used_at ?? 0),
  }
}

/** The token of this digest, if it is one of the realm and has not expired. */
export type FindScimToken = (view: RealmView, hash: string) => Promise<ScimToken | undefined>

export const createScimTokens = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
}): FindScimToken => {
  const { db } = storage
  const ofViews = new WeakMap<RealmView, Map<string, KnownToken>>()

  const find = async (view: RealmView, hash: string): Promise<KnownToken | undefined> => {
    const known = ofViews.get(view) ?? new Map<string, KnownToken>()
    ofViews.set(view, known)
    const before = known.get(hash)
    if (before) return before
    const read = await readToken({ db }, view.realm, hash)
    if (read) known.set(hash, read)
    return read
  }

  const noteUse = async (known: KnownToken, now: number): Promise<void> => {
    if (known.notedAt === undefined || known.notedAt > now - lastUseMs) return
    known.notedAt = now
    await storage.commit([
      statement(
        db
          .updateTable('scim_tokens')
          .set({ last_used_at: now })
          .where('token_id', '=', known.token.id),
      ),
    ])
  }

  return async (view, hash) => {
    const known = await find(view, hash)
    const now = clock.now()
    if (!known || (known.expiresAt !== null && known.expiresAt <= now)) return undefined
    await noteUse(known, now)
    return known.token
  }
}
