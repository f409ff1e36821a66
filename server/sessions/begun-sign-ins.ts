/**
 * Rows of sign-ins in progress. What was proved in one may be worth a session later: they end with the sessions of their user,
 * so that a password that was changed, or an account that was taken away, is of no use in a sign-in that waits for its last step.
 */

import type { Kysely } from 'kysely'
import { sha256 } from '#server/platform/random.ts'
import type { Statement } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { SignInRow } from '#server/storage/tables/sign-in-tables.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

/** Fails when the sign-in went on, or ended, in another tab at the same moment. */
export const signInGuard = 'sign-in'

/** The handle travels through the browser, its digest is stored. */
export const signInId = (handle: string): string => sha256(handle)

export const aliveSignIn = preparedQuery(
  'sign-in',
  (db, { id, realm, now }: { id: string; realm: string; now: number }) =>
    db
      .selectFrom('sign_ins')
      .selectAll()
      .where('id', '=', id)
      .where('realm', '=', realm)
      .where('expires_at', '>', now),
)

/** The last one of a user in a browser. */
export const aliveSignInOf = preparedQuery(
  'sign-in-of-user',
  (db, { user, browser, now }: { user: string; browser: string; now: number }) =>
    db
      .selectFrom('sign_ins')
      .selectAll()
      .where('user_id', '=', user)
      .where('browser', '=', browser)
      .where('expires_at', '>', now)
      .orderBy('created_at', 'desc')
      .limit(1),
)

export const beginSignIn = (db: Kysely<Tables>, row: SignInRow): Statement[] =>
  insertRows(db, 'sign_ins', [row])

type Update = {
  readonly id: string
  readonly browser: string
  readonly user_id: string | null
  readonly state: string
  readonly version: number
  readonly before: number
}

export const updateSignIn = preparedStatement(
  (db, { id, before, browser, user_id, state, version }: Update) =>
    db
      .updateTable('sign_ins')
      .set({ state, user_id, browser, version })
      .where('id', '=', id)
      .where('version', '=', before),
  { rows: 1, guard: signInGuard },
)

export const moveSignIn = preparedStatement(
  (db, { id, version, to }: { id: string; version: number; to: string }) =>
    db.updateTable('sign_ins').set({ id: to }).where('id', '=', id).where('version', '=', version),
  { rows: 1, guard: signInGuard },
)

export const endSignIn = preparedStatement(
  (db, { id, version }: { id: string; version: number }) =>
    db.deleteFrom('sign_ins').where('id', '=', id).where('version', '=', version),
  { rows: 1, guard: signInGuard },
)

/** `except` is the handle of one that goes on. */
export const endSignInsOf = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  except = '',
): Statement =>
  statement(
    db.deleteFrom('sign_ins').where('user_id', 'in', userIds).where('id', '!=', signInId(except)),
  )

export const forgetSignIns = (db: Kysely<Tables>, now: number): Statement =>
  statement(db.deleteFrom('sign_ins').where('expires_at', '<=', now))
