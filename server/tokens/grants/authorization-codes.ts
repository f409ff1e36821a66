/**
 * The codes of authorizations (RFC 6749 §4.1.2). Single use is a guarded statement: of any number of callers exactly one
 * passes, on both databases.
 */

import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { AuthorizationCodeRow, TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { grantIn } from './grant-rows.ts'
import type { Handles } from './handles.ts'

export interface NewCode {
  readonly realm: string
  readonly clientId: string
  readonly userId: string
  /** Of the grant that the exchange will make; a second use revokes it. */
  readonly grantId: string
  readonly data: unknown
  readonly lifetimeSeconds: number
}

/** A failed one means a concurrent write. */
export const codeGuard = 'authorization-code'

export interface AuthorizationCodes {
  createCode(code: NewCode): { code: string; statements: Statement[] }
  /** Also one that was used or has expired, until it is forgotten: the caller must see the difference. */
  findCode(realm: string, code: string): Promise<AuthorizationCodeRow | undefined>
  /** Fails `codeGuard` when it was used before. */
  useCode(code: AuthorizationCodeRow): Statement[]
  /** What a code gave that was forgotten since; a grant outlives its code only when the code was used. */
  grantOfForgottenCode(realm: string, code: string): Promise<TokenGrantRow | undefined>
}

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

export const createAuthorizationCodes = ({
  storage: { db },
  clock,
  handles,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly handles: Handles
}): AuthorizationCodes => ({
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

  grantOfForgottenCode: (realm, code) => grantIn(db, realm, handles.grantOf('code', code)),
})
