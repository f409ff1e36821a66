/** `iamctl sessions list`. */

import { command } from '../../invocation/command.ts'
import { flags, text } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'
import { sessionsOf } from './of-user.ts'

export const listSessions = command({
  name: 'list',
  description: 'list active sessions, last used first',
  help: '\nExample:\n  iamctl sessions list --realm acme --user alice',
  flags: flags(
    { user: text('<user>', 'only of this user: username, email address or id') },
    realmFlags,
  ),
  run: async (call) => {
    const place = await openRealm(call)
    return { realm: place.realm, sessions: await sessionsOf(place, call.flags.user) }
  },
  views: {
    human: async () => (await import('../../views/human/live/sessions.ts')).showSessions,
    json:
      () =>
      ({ sessions }) =>
        printJson(sessions),
  },
})
