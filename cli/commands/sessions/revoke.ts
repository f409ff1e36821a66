/** `iamctl sessions revoke`. */

import { isProblem } from '../../client/http/errors.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags, text } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { type OnRealm, openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { sessionsOf } from './of-user.ts'

const count = (sessions: readonly unknown[]): string =>
  sessions.length === 1 ? '1 session' : `${sessions.length} sessions`

/** One that ended by itself meanwhile is as good as revoked. */
const revokeAll = async ({ api, realm }: OnRealm, ids: readonly string[]): Promise<void> => {
  for (const id of ids)
    try {
      await api.sessions.revoke(realm, id)
    } catch (error) {
      if (!isProblem(error, 404)) throw error
    }
}

export const revokeSessions = command({
  name: 'revoke',
  description: 'end a session, or all sessions of a user',
  help: `
Examples:
  iamctl sessions revoke 0198c0de-0000-7000-8000-000000000000 --realm acme
  iamctl sessions revoke --user alice --realm acme --auto-approve`,
  arguments: [argument('[id]', 'of the session')],
  flags: flags(
    { user: text('<user>', 'all sessions of this user: username, email address or id') },
    approvalFlag,
    realmFlags,
  ),
  run: async (call, id) => {
    const { user } = call.flags
    if ((id === undefined) === (user === undefined))
      throw new CommandError(exitCodes.error, 'name a session, or all of a user with --user', {
        hint: '`iamctl sessions list` shows them',
      })
    const place = await openRealm(call)
    const { realm } = place
    if (id !== undefined) {
      await place.api.sessions.revoke(realm, id)
      return { realm, revoked: [id], text: `session ${id} has ended` }
    }
    const sessions = await sessionsOf(place, user)
    if (sessions.length > 0)
      await agreed(call, `End ${count(sessions)} of ${user} in realm ${realm}?`)
    const revoked = sessions.map((session) => session.id)
    await revokeAll(place, revoked)
    return { realm, revoked, text: `${count(sessions)} of ${user} ended` }
  },
  views: {
    human: () => (done, call) => note(call, done.text),
    json:
      () =>
      ({ realm, revoked }) =>
        printJson({ realm, revoked }),
  },
})
