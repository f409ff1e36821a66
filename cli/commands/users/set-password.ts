/** `iamctl users set-password`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { askHidden } from '../../views/human/elements/prompt.ts'
import { printJson } from '../../views/json/json.ts'
import { isInteractive } from '../../views/streams.ts'
import { userArgument, userNamed } from './named.ts'

/** Typed twice: a slip would lock the user out. */
const newPassword = async (file: string | undefined, user: string): Promise<string> => {
  if (file !== undefined) return (await import('../../client/connect.ts')).passwordFrom(file)
  if (!isInteractive())
    throw new CommandError(
      exitCodes.error,
      'no new password is given, and standard input is not a terminal',
      { hint: 'give --new-password-file FILE; - reads it from stdin' },
    )
  const first = await askHidden(`New password of ${user}: `)
  if (first === '')
    throw new CommandError(exitCodes.error, 'no password was given', {
      hint: 'type one, or name its file with --new-password-file',
    })
  if ((await askHidden('Repeat the new password: ')) !== first)
    throw new CommandError(exitCodes.error, 'the passwords differ; nothing was changed', {
      hint: 'run the command again',
    })
  return first
}

export const setPassword = command({
  name: 'set-password',
  description: 'set the password of a user and end their sessions',
  help: `
A password is never an argument: other users of the machine can see arguments.

Examples:
  iamctl users set-password alice --realm acme
  iamctl users set-password alice --realm acme --temporary --new-password-file - < password.txt`,
  arguments: [userArgument],
  flags: flags(
    {
      newPasswordFile: text('<file>', 'file with the new password; - is stdin', {
        fallback: 'a prompt',
      }),
      temporary: toggle('the user must change it at the next sign-in'),
    },
    realmFlags,
  ),
  run: async (call, name) => {
    const place = await openRealm(call)
    const { userId, username } = await userNamed(place, name)
    const { temporary, newPasswordFile } = call.flags
    const password = await newPassword(newPasswordFile, username)
    await place.api.users.setPassword(place.realm, userId, password, temporary)
    return { realm: place.realm, userId, username, temporary }
  },
  views: {
    human:
      () =>
      ({ username, temporary }, call) =>
        note(
          call,
          `${username} has a new password${temporary ? ', to be changed at the next sign-in' : ''}; their sessions have ended`,
        ),
    json: () => printJson,
  },
})
