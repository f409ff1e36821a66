/** Sessions that are alive, with their users, in one query. */

import type { Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'

type Alive = { realm: string; now: number; idleSince: number }

/** Sessions with their users, where both may be used. */
export const withUsers = (db: Storage['db'], { realm, now, idleSince }: Alive) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('users')
    .select([
      'sessions.id as session_id',
      'sessions.sid',
      'sessions.created_at as session_created_at',
      'sessions.last_access',
      'sessions.expires_at',
      'sessions.remember_me',
      'sessions.ip',
      'sessions.user_agent',
      'sessions.amr',
      'sessions.acr',
      'sessions.impersonator',
      'sessions.organization_id',
    ])
    .where('sessions.realm', '=', realm)
    .where('users.realm', '=', realm)
    .where('sessions.expires_at', '>', now)
    .where('sessions.last_access', '>', idleSince)
    .where('users.enabled', '=', 1)
    .where('users.locked', '=', 0)

type AliveRow = Awaited<ReturnType<ReturnType<typeof withUsers>['execute']>>[number]

const aliveBy = (name: string, column: 'sessions.id' | 'sessions.sid') =>
  preparedQuery(name, (db, values: Alive & { value: string }) =>
    withUsers(db, values).where(column, '=', values.value),
  )

export const foundOf = (realm: string, row: AliveRow): { session: SessionRow; user: UserRow } => {
  const {
    session_id: id,
    session_created_at: created_at,
    sid,
    last_access,
    expires_at,
    remember_me,
    ip,
    user_agent,
    amr,
    acr,
    impersonator,
    organization_id,
    ...user
  } = row
  const times = { created_at, last_access, expires_at }
  const origin = { remember_me, ip, user_agent, amr, acr, impersonator, organization_id }
  const session = { id, sid, realm, user_id: user.id, ...times, ...origin }
  return { session, user }
}

export const aliveSession = {
  'sessions.id': aliveBy('session-by-id', 'sessions.id'),
  'sessions.sid': aliveBy('session-by-sid', 'sessions.sid'),
}
