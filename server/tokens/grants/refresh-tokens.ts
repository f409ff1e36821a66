/**
 * The refresh tokens of a grant (RFC 6749 §6). Single use is a guarded statement: of any number of callers exactly one
 * passes, on both databases.
 */

import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { RefreshTokenRow, TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { bareRefreshToken, type IssuedRefreshToken } from '../keycloak/refresh-token.ts'
import { grantIn, touchGrant } from './grant-rows.ts'
import type { Handles } from './handles.ts'

/** A failed one means a concurrent write. */
export const refreshGuard = 'refresh-token'

export interface RefreshTokens {
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
}

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

export const createRefreshTokens = ({
  storage: { db },
  clock,
  handles,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly handles: Handles
}): RefreshTokens => {
  const touch = (id: string): Statement => touchGrant(db, { id, now: clock.now() })

  return {
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
      const grant = row && (await grantIn(db, realm, row.grant_id))
      return grant ? { token: row, grant } : undefined
    },

    async familyOfForgotten(realm, token) {
      const id = handles.grantOf('refresh-token', bareRefreshToken(token))
      const grant = await grantIn(db, realm, id)
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
  }
}
