/** Ends sessions and notifies their clients: one job per client, in the same transaction. */

import {
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
} from 'kysely'
import { enqueueSelected } from '#server/jobs/store.ts'
import type { Statement } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { endSignInsOf } from './begun-sign-ins.ts'

type Sids = SelectQueryBuilder<Tables, 'sessions', { sid: string }>

/** Jobs whose target is the client. */
export const logoutQueue = 'logout'

export interface EndedSession {
  readonly sid: string
  /** Null, or the id of a user who may be deleted. */
  readonly user: string | null
}

/** The key of the job that tells a client of the end of a session; the columns are those of a table with `sid` and `client_id`. */
export const logoutKey = sql`sid || '/' || client_id`

const tell = (db: Kysely<Tables>, which: RawBuilder<unknown>, now: number): Statement[] => [
  enqueueSelected(db, logoutQueue, now, {
    key: logoutKey,
    realm: sql`realm`,
    target: sql`client_id`,
    // All of them ids of ours, which need no escaping.
    payload: sql`'{"sid":"' || sid || '","user":' || coalesce('"' || user_id || '"', 'null') || '}'`,
    from: sql`session_clients where ${which}`,
  }),
  statement({ compile: () => sql`delete from session_clients where ${which}`.compile(db) }),
]

/** Before the sessions are deleted. */
export const tellClients = (db: Kysely<Tables>, sids: Sids, now: number): Statement[] =>
  tell(db, sql`sid in (${sids})`, now)

/** For sessions that were deleted with their user. */
export const tellClientsOfGone = (db: Kysely<Tables>, realm: string, now: number): Statement[] =>
  tell(
    db,
    sql`realm = ${realm} and not exists
      (select 1 from sessions where sessions.sid = session_clients.sid)`,
    now,
  )

/** Their own sessions, and those in which they act as others: an administrator who is shut out must not go on as a user. */
export const isOfUsers =
  (userIds: readonly string[]) => (eb: ExpressionBuilder<Tables, 'sessions'>) =>
    eb.or([eb('user_id', 'in', userIds), eb('impersonator', 'in', userIds)])

/** All of these users, with their sign-ins in progress; `except` is the id of a session that goes on. */
export const endSessionsOf = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  now: number,
  except = '',
): Statement[] => [
  ...tellClients(
    db,
    db.selectFrom('sessions').select('sid').where(isOfUsers(userIds)).where('id', '!=', except),
    now,
  ),
  statement(db.deleteFrom('sessions').where(isOfUsers(userIds)).where('id', '!=', except)),
  endSignInsOf(db, userIds),
]
