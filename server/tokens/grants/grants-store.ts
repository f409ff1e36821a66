/**
 * The rows of one authorization: a grant, its code, its refresh tokens. Handles are random values, stored as digests.
 * Single use is a guarded statement: of any number of callers exactly one passes, on both databases.
 */

import { forgetReplayGuards, insertReplayGuard } from '#server/credentials/replay-guards.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type {
  AuthorizationCodeRow,
  RefreshTokenRow,
  TokenGrantRow,
} from '#server/storage/tables/token-tables.ts'
import { bareRefreshToken, type IssuedRefreshToken } from '../keycloak/refresh-token.ts'
import { revokedIds } from '../token-ids.ts'
import { createHandles, type HandlePurpose } from './handles.ts'

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

export interface NewCode {
  readonly realm: string
  readonly clientId: string
  readonly userId: string
  /** Of the grant that the exchange will make; a second use revokes it. */
  readonly grantId: string
  readonly data: unknown
  readonly lifetimeSeconds: number
}

/** What the exchange of a code makes of the grant. */
export interface Prolongation {
  readonly data: GrantData
  readonly offline: boolean
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** Guards of the statements below; a failed one means a concurrent write. */
export const codeGuard = 'authorization-code'
export const refreshGuard = 'refresh-token'
const grantGuard = 'token-grant'

export interface GrantsStore {
  newGrantId(): string
  /** With `id` where it was announced before, in a code. */
  create(grant: NewGrant, id?: string): { grant: TokenGrantRow; statements: Statement[] }
  find(id: string): Promise<TokenGrantRow | undefined>
  scopeOf(grant: TokenGrantRow): string[]
  dataOf(grant: TokenGrantRow): GrantData

  /** Fails `grantGuard` when the grant was ended since. */
  prolong(grantId: string, change: Prolongation): Statement[]

  createCode(code: NewCode): { code: string; statements: Statement[] }
  /** Also one that was used or has expired, until it is forgotten: the caller must see the difference. */
  findCode(realm: string, code: string): Promise<AuthorizationCodeRow | undefined>
  /** Fails `codeGuard` when it was used before. */
  useCode(code: AuthorizationCodeRow): Statement[]
  /** What a code gave that was forgotten since; a grant outlives its code only when the code was used. */
  grantOfForgottenCode(realm: string, code: string): Promise<TokenGrantRow | undefined>

  createRefreshToken(
    grantId: string,
    lifetimeSeconds: number,
  ): IssuedRefreshToken & { statements: Statement[] }
  /** Also one that was used or has expired, until it is forgotten. */
  findRefreshToken(
    realm: string,
    token: string,
  ): Promise<{ token: RefreshTokenRow; grant: TokenGrantRow } | undefined>
  /**
   * The family of a refresh token that was forgotten since, where it lives on: only one that was used has successors.
   * Nothing of one that ended unused.
   */
  familyOfForgotten(realm: string, token: string): Promise<TokenGrantRow | undefined>
  /**
   * Fails `refreshGuard` when it was used more often than `reuses` allows, or when one that came of it was used since;
   * the grant is marked as used now.
   */
  useRefreshToken(token: RefreshTokenRow, reuses?: number): Statement[]
  /** For realms that let a refresh token be used again: it is good for longer. Fails `refreshGuard` as above. */
  keepRefreshToken(token: RefreshTokenRow, expiresAt: number): Statement[]

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

const findGrant = preparedQuery('grant', (db, { id }: { id: string }) =>
  db.selectFrom('token_grants').selectAll().where('id', '=', id),
)

const touchGrant = preparedStatement((db, { id, now }: { id: string; now: number }) =>
  db.updateTable('token_grants').set({ last_used_at: now }).where('id', '=', id),
)

type Prolonged = { id: string; data: string; offline: number; now: number; expiresAt: number }

const prolongGrant = preparedStatement(
  (db, { id, data, offline, now, expiresAt }: Prolonged) =>
    db
      .updateTable('token_grants')
      .set({ data, offline, last_used_at: now, expires_at: expiresAt })
      .where('id', '=', id),
  { rows: 1, guard: grantGuard },
)

const findCode = preparedQuery('code', (db, { id, realm }: { id: string; realm: string }) =>
  db.selectFrom('authorization_codes').selectAll().where('id', '=', id).where('realm', '=', realm),
)

const spendCode = preparedStatement(
  (db, { id, now }: { id: string; now: number }) =>
    db
      .updateTable('authorization_codes')
      .set({ used_at: now })
      .where('id', '=', id)
      .where('used_at', 'is', null),
  { rows: 1, guard: codeGuard },
)

const findRefreshToken = preparedQuery('refresh-token', (db, { id }: { id: string }) =>
  db.selectFrom('refresh_tokens').selectAll().where('id', '=', id),
)

const findSuccessor = preparedQuery(
  'refresh-token-successor',
  (db, { grantId, now }: { grantId: string; now: number }) =>
    db
      .selectFrom('refresh_tokens')
      .select('id')
      .where('grant_id', '=', grantId)
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .limit(1),
)

const spendOnce = preparedStatement(
  (db, { id, now }: { id: string; now: number }) =>
    db
      .updateTable('refresh_tokens')
      .set({ used_at: now, uses: 1 })
      .where('id', '=', id)
      .where('uses', '=', 0),
  { rows: 1, guard: refreshGuard },
)

const spendAgain = preparedStatement(
  (
    db,
    { id, grantId, now, reuses }: { id: string; grantId: string; now: number; reuses: number },
  ) =>
    db
      .updateTable('refresh_tokens')
      .set((eb) => ({ used_at: now, uses: eb('uses', '+', 1) }))
      .where('id', '=', id)
      .where('uses', '<=', reuses)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('refresh_tokens as later')
              .select('later.id')
              .where('later.grant_id', '=', grantId)
              .where('later.used_at', 'is not', null)
              .whereRef('later.created_at', '>=', 'refresh_tokens.used_at')
              .where('later.id', '<>', id),
          ),
        ),
      ),
  { rows: 1, guard: refreshGuard },
)

const keepRefreshToken = preparedStatement(
  (db, { id, expiresAt }: { id: string; expiresAt: number }) =>
    db
      .updateTable('refresh_tokens')
      .set({ expires_at: expiresAt })
      .where('id', '=', id)
      .where('used_at', 'is', null),
  { rows: 1, guard: refreshGuard },
)

export const createGrantsStore = ({
  storage,
  clock,
  handleKey,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  /** All nodes have the same, for good. */
  readonly handleKey: Uint8Array
}): GrantsStore => {
  const { db } = storage
  const handles = createHandles(handleKey)

  const touch = (id: string): Statement => touchGrant(db, { id, now: clock.now() })

  const grantOf = async (
    realm: string,
    purpose: HandlePurpose,
    handle: string,
  ): Promise<TokenGrantRow | undefined> => {
    const id = handles.grantOf(purpose, handle)
    const [grant] = id === undefined ? [] : await findGrant(db, { id })
    return grant?.realm === realm ? grant : undefined
  }

  /** A row that is remembered (liveness.ts) is the same object every time. */
  const datas = new WeakMap<TokenGrantRow, GrantData>()

  return {
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

    createCode({ realm, clientId, userId, grantId, data, lifetimeSeconds }) {
      const code = handles.make('code', grantId)
      const row: AuthorizationCodeRow = {
        id: sha256(code),
        realm,
        client_id: clientId,
        user_id: userId,
        grant_id: grantId,
        data: JSON.stringify(data),
        expires_at: clock.now() + lifetimeSeconds * 1000,
        used_at: null,
      }
      return { code, statements: insertRows(db, 'authorization_codes', [row]) }
    },

    findCode: async (realm, code) => (await findCode(db, { id: sha256(code), realm }))[0],

    useCode: ({ id }) => [spendCode(db, { id, now: clock.now() })],

    grantOfForgottenCode: (realm, code) => grantOf(realm, 'code', code),

    createRefreshToken(grantId, lifetimeSeconds) {
      const refreshToken = handles.make('refresh-token', grantId)
      const now = clock.now()
      const row: RefreshTokenRow = {
        id: sha256(refreshToken),
        grant_id: grantId,
        created_at: now,
        expires_at: now + lifetimeSeconds * 1000,
        used_at: null,
        uses: 0,
      }
      return {
        refreshToken,
        expiresAt: row.expires_at,
        statements: insertRows(db, 'refresh_tokens', [row]),
      }
    },

    async findRefreshToken(realm, token) {
      const [row] = await findRefreshToken(db, { id: sha256(bareRefreshToken(token)) })
      const [grant] = row ? await findGrant(db, { id: row.grant_id }) : []
      return row && grant?.realm === realm ? { token: row, grant } : undefined
    },

    async familyOfForgotten(realm, token) {
      const grant = await grantOf(realm, 'refresh-token', bareRefreshToken(token))
      const alive = grant && (await findSuccessor(db, { grantId: grant.id, now: clock.now() }))
      return alive?.length ? grant : undefined
    },

    useRefreshToken: ({ id, grant_id }, reuses = 0) => {
      const now = clock.now()
      const use =
        reuses === 0
          ? spendOnce(db, { id, now })
          : spendAgain(db, { id, grantId: grant_id, now, reuses })
      return [use, touch(grant_id)]
    },

    keepRefreshToken: ({ id, grant_id }, expiresAt) => [
      keepRefreshToken(db, { id, expiresAt }),
      touch(grant_id),
    ],

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
