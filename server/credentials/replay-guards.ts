/** Single use of challenges, assertions and proofs: their digests are stored until they expire. */

import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { ReplayGuardRow } from '#server/storage/tables/token-tables.ts'

type Db = Pick<Storage, 'db'>

export interface Presented {
  readonly realm: string
  /** Ids of different purposes are different. */
  readonly purpose: string
  readonly id: string
  /** Epoch milliseconds: it is refused for its age from then on. */
  readonly expiresAt: number
}

const rowOf = ({ realm, purpose, id, expiresAt }: Presented): ReplayGuardRow => ({
  realm,
  purpose,
  id: sha256(id),
  // The NumericDate of a JWT may have fractions (RFC 7519 §2).
  expires_at: Math.ceil(expiresAt),
})

/** Refused by the database (a unique ConstraintError of replay_guards) when it was presented before. */
export const insertReplayGuard = ({ db }: Db, presented: Presented): Statement[] =>
  insertRows(db, 'replay_guards', [rowOf(presented)])

/** Fails the guard when it was presented before. */
export const presentOnce = ({ db }: Db, presented: Presented, guard: string): Statement =>
  guarded(
    db
      .insertInto('replay_guards')
      .values(rowOf(presented))
      .onConflict((conflict) => conflict.doNothing()),
    guard,
  )

export const forgetReplayGuards = ({ db }: Db, now: number): Statement =>
  statement(db.deleteFrom('replay_guards').where('expires_at', '<=', now))
