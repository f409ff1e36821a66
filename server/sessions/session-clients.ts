/** The clients of sessions, notified when the session ends (OIDC Back-Channel Logout 1.0). */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { statement } from '#server/storage/statements.ts'

/** The ids of the clients that a session led to. */
export const clientsOfSession = async (
  { db }: Pick<Storage, 'db'>,
  sid: string,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('session_clients')
    .select('client_id')
    .where('sid', '=', sid)
    .execute()
  return rows.map(({ client_id }) => client_id)
}

type Visited = { sid: string; clientId: string; userId: string | null; realm: string; now: number }

const visit = (db: Storage['db'], { sid, clientId, userId, realm, now }: Visited) =>
  db
    .insertInto('session_clients')
    .values({ sid, client_id: clientId, user_id: userId, realm, since: now })
    .onConflict((conflict) => conflict.columns(['sid', 'client_id']).doNothing())

/** Changes no row where the session led to the client before. */
export const visitClient = preparedStatement(visit)

/** Fails where the clients of the session were notified in the meantime: the session has ended. */
export const sessionEndedGuard = 'session-ended'

/** Of a session that was read to have led to the client before. */
export const visitClientAgain = preparedStatement(visit, { rows: 0, guard: sessionEndedGuard })

/** Without a notification of the clients. */
export const forgetClientsOf = ({ db }: Pick<Storage, 'db'>, userId: string): Statement =>
  statement(db.deleteFrom('session_clients').where('user_id', '=', userId))
