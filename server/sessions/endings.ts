/** Ends sessions, so that the clients they led to are told: that they are to be is written in the same transaction. */

import type { Kysely, SelectQueryBuilder } from 'kysely'
import type { Statement } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables.ts'

type Sids = SelectQueryBuilder<Tables, 'sessions', { sid: string }>

/** Before the sessions are deleted. */
export const tellClients = (db: Kysely<Tables>, sids: Sids, now: number): Statement =>
  statement(
    db
      .updateTable('session_clients')
      .set({ next_at: now })
      .where('sid', 'in', sids)
      .where('next_at', 'is', null),
  )

/** For sessions that were deleted with their user. */
export const tellClientsOfGone = (db: Kysely<Tables>, realm: string, now: number): Statement =>
  statement(
    db
      .updateTable('session_clients')
      .set({ next_at: now })
      .where('realm', '=', realm)
      .where('next_at', 'is', null)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('sessions')
              .select('sessions.sid')
              .whereRef('sessions.sid', '=', 'session_clients.sid'),
          ),
        ),
      ),
  )

/** All of these users; `except` is the id of one that goes on. */
export const endSessionsOf = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  now: number,
  except = '',
): Statement[] => [
  tellClients(
    db,
    db
      .selectFrom('sessions')
      .select('sid')
      .where('user_id', 'in', userIds)
      .where('id', '!=', except),
    now,
  ),
  statement(db.deleteFrom('sessions').where('user_id', 'in', userIds).where('id', '!=', except)),
]
