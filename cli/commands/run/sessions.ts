/** Sessions of people: who is signed in, and ending it. */

import type { Connection } from '../../client/connect.ts'
import { isProblem } from '../../client/http/errors.ts'
import type { SessionRecord } from '../../client/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { ago, moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'
import { userNamed } from './users.ts'

const sessionsOf = async (
  { flags }: Invocation,
  connection: Connection,
  realm: string,
): Promise<SessionRecord[]> => {
  const name = flags['user']
  const user = typeof name === 'string' ? await userNamed(connection, realm, name) : undefined
  const all = await connection.api.sessions.list(realm)
  return user === undefined ? all : all.filter(({ userId }) => userId === user.userId)
}

export const listSessions = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async (connection, realm) => {
    const sessions = await sessionsOf(invocation, connection, realm)
    if (invocation.output === 'json') return printJson(sessions)
    if (sessions.length === 0) return note(invocation, `nobody is signed in to realm ${realm}`)
    const now = Date.now()
    return printTable(
      ['session', 'user', 'address', 'since', 'last used'],
      sessions.map(({ id, username, ipAddress, start, lastAccess }) => [
        id,
        username,
        ipAddress,
        moment(start),
        ago(lastAccess, now),
      ]),
    )
  })

const count = (sessions: readonly unknown[]): string =>
  sessions.length === 1 ? '1 session' : `${sessions.length} sessions`

/** One that ended by itself meanwhile is as good as revoked. */
const revokeAll = async (
  { api }: Connection,
  realm: string,
  ids: readonly string[],
): Promise<void> => {
  for (const id of ids)
    try {
      await api.sessions.revoke(realm, id)
    } catch (error) {
      if (!isProblem(error, 404)) throw error
    }
}

export const revokeSessions = async (
  invocation: Invocation,
  id: string | undefined,
): Promise<void> => {
  const name = invocation.flags['user']
  if ((id === undefined) === (name === undefined))
    throw new CommandError(exitCodes.error, 'name a session, or all of a user with --user', {
      hint: '`iamctl sessions list` shows them',
    })
  await withRealm(invocation, async (connection, realm) => {
    if (id !== undefined) {
      await connection.api.sessions.revoke(realm, id)
      if (invocation.output === 'json') printJson({ realm, revoked: [id] })
      else note(invocation, `session ${id} has ended`)
      return
    }
    const sessions = await sessionsOf(invocation, connection, realm)
    if (sessions.length > 0)
      await agreed(invocation, `End ${count(sessions)} of ${name} in realm ${realm}?`)
    const ids = sessions.map((session) => session.id)
    await revokeAll(connection, realm, ids)
    if (invocation.output === 'json') printJson({ realm, revoked: ids })
    else note(invocation, `${count(sessions)} of ${name} ended`)
  })
}
