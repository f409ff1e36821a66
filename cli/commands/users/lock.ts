/** `iamctl users lock` and `iamctl users unlock`: one act, in both directions. */

import { type AddCommand, command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { userArgument, userNamed } from './named.ts'

const locking = (name: 'lock' | 'unlock', description: string): AddCommand =>
  command({
    name,
    description,
    help: `\nExample:\n  iamctl users ${name} alice --realm acme`,
    arguments: [userArgument],
    flags: realmFlags,
    run: async (call, user) => {
      const locked = name === 'lock'
      const place = await openRealm(call)
      const { userId, username } = await userNamed(place, user)
      const changed = await place.api.users.setLocked(place.realm, userId, locked)
      return { realm: place.realm, userId, username, locked, changed }
    },
    views: {
      human:
        () =>
        ({ username, locked, changed }, call) => {
          const word = locked ? 'locked' : 'unlocked'
          note(call, `${username} is ${changed ? word : `${word} already`}`)
        },
      json: () => printJson,
    },
  })

export const lockUser = locking('lock', 'keep a user from signing in')
export const unlockUser = locking(
  'unlock',
  'let a user sign in again, also after too many failures',
)
