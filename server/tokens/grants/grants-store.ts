/** The rows of one authorization: a grant, its code, its refresh tokens. Handles are random values, stored as digests. */

import { forgetReplayGuards, insertReplayGuard } from '#server/credentials/replay-guards.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { revokedIds } from '../token-ids.ts'
import { type AuthorizationCodes, createAuthorizationCodes } from './authorization-codes.ts'
import { findGrant, grantGuard } from './grant-rows.ts'
import { createHandles } from './handles.ts'
import { createRefreshTokens, type RefreshTokens } from './refresh-tokens.ts'

/** What is remembered of a grant beside its columns, for the tokens that it gives. */
export interface GrantData {
  /** Epoch milliseconds. */
  readonly authTime?: number
  readonly acr?: string
  readonly amr?: readonly string[]
  readonly nonce?: string
  readonly resources?: readonly string[]
  /** Thumbprint of the key that refresh tokens are bound to (RFC 9449 §5). */
  readonly jkt?: string
  /** Names of claims that were asked for one by one (OIDC Core §5.5). */
  readonly idTokenClaims?: readonly string[]
  readonly userinfoClaims?: readonly string[]
  /** The organization that was asked for, by id. */
  readonly organization?: string
  /** What the server itself adds to access tokens: `act` … */
  readonly claims?: Readonly<Record<string, unknown>>
}

export interface NewGrant {
  readonly realm: string
  /** Of the client's document. */
  readonly clientId: string
  readonly userId: string | null
  readonly sid?: string | undefined
  readonly offline?: boolean
  readonly scope: readonly string[]
  readonly data?: GrantData
  /** Epoch milliseconds: nothing of it is good afterwards. */
  readonly expiresAt: number
}

/** What the exchange of a code makes of the grant. */
export interface Prolongation {
  readonly data: GrantData
  readonly offline: boolean
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export interface GrantsStore extends AuthorizationCodes, RefreshTokens {
  newGrantId(): string
  /** With `id` where it was announced before, in a code. */
  create(grant: NewGrant, id?: string): { grant: TokenGrantRow; statements: Statement[] }
  find(id: string): Promise<TokenGrantRow | undefined>
  scopeOf(grant: TokenGrantRow): string[]
  dataOf(grant: TokenGrantRow): GrantData

  /** Fails `grantGuard` when the grant was ended since. */
  prolong(grantId: string, change: Prolongation): Statement[]

  /** Ends the grant with all its refresh tokens; access tokens that name it are refused from then on. */
  revoke(grantId: string): Statement[]
  /** As `revoke`, and fails `grantGuard` when there is no such grant: of several callers one records it. */
  revokeOnce(grantId: string): Statement[]
  revokeOfClient(clientId: string): Statement[]
  revokeOfUser(userId: string, clientId?: string): Statement[]
  /** One access token. */
  revokeToken(realm: string, jti: string, expiresAt: number): Statement[]

  /** Refused by the database (a unique ConstraintError of replay_guards) when the id was seen before. */
  once(realm: string, purpose: string, id: string, expiresAt: number): Statement[]

  /** Removes what has expired, of all realms; replay guards too. */
  forgetStatements(): Statement[]
}

const expiring = [
  'token_grants',
  'authorization_codes',
  'refresh_tokens',
  'revoked_tokens',
] as const

type Prolonged = { id: string; data: string; offline: number; now: number; expiresAt: number }

const prolongGrant = preparedStatement(
  (db, { id, data, offline, now, expiresAt }: Prolonged) =>
    db
      .updateTable('token_grants')
      .set({ data, offline, last_used_at: now, expires_at: expiresAt })
      .where('id', '=', id),
  { rows: 1, guard: grantGuard },
)

export const createGrantsStore = ({
  storage,
  clock,
  handleKey,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  /** The same on all nodes, and constant. */
  readonly handleKey: Uint8Array
}): GrantsStore => {
  const { db } = storage
  const handles = createHandles(handleKey)

  /** A row that is remembered (liveness.ts) is the same object every time. */
  const datas = new WeakMap<TokenGrantRow, GrantData>()

  return {
    ...createAuthorizationCodes({ storage, clock, handles }),
    ...createRefreshTokens({ storage, clock, handles }),

    newGrantId: newId,

    create({ realm, clientId, userId, sid, offline, scope, data = {}, expiresAt }, id = newId()) {
      const now = clock.now()
      const grant: TokenGrantRow = {
        id,
        realm,
        client_id: clientId,
        user_id: userId,
        sid: sid ?? null,
        offline: offline ? 1 : 0,
        scope: JSON.stringify(scope),
        data: JSON.stringify(data),
        created_at: now,
        last_used_at: now,
        expires_at: expiresAt,
      }
      return { grant, statements: insertRows(db, 'token_grants', [grant]) }
    },

    find: async (id) => (await findGrant(db, { id }))[0],
    scopeOf: ({ scope }) => JSON.parse(scope) as string[],
    dataOf: (grant) => {
      const data = datas.get(grant) ?? (JSON.parse(grant.data) as GrantData)
      datas.set(grant, data)
      return data
    },

    prolong: (id, { data, offline, expiresAt }) => {
      const now = clock.now()
      const change = { id, now, expiresAt, data: JSON.stringify(data), offline: offline ? 1 : 0 }
      return [prolongGrant(db, change)]
    },

    revoke: (grantId) => [statement(db.deleteFrom('token_grants').where('id', '=', grantId))],

    revokeOnce: (grantId) => [
      guarded(db.deleteFrom('token_grants').where('id', '=', grantId), grantGuard),
    ],

    revokeOfClient: (clientId) => [
      statement(db.deleteFrom('token_grants').where('client_id', '=', clientId)),
    ],

    revokeOfUser: (userId, clientId) => {
      const all = db.deleteFrom('token_grants').where('user_id', '=', userId)
      return [statement(clientId === undefined ? all : all.where('client_id', '=', clientId))]
    },

    revokeToken: (realm, jti, expiresAt) => [
      statement(
        db
          .insertInto('revoked_tokens')
          .values(revokedIds(jti).map((one) => ({ jti: one, realm, expires_at: expiresAt })))
          .onConflict((conflict) => conflict.column('jti').doNothing()),
      ),
    ],

    once: (realm, purpose, id, expiresAt) =>
      insertReplayGuard(storage, { realm, purpose, id, expiresAt }),

    forgetStatements: () => {
      const now = clock.now()
      return [
        ...expiring.map((table) => statement(db.deleteFrom(table).where('expires_at', '<=', now))),
        forgetReplayGuards(storage, now),
      ]
    },
  }
}
