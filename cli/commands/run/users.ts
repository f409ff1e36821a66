/** Passwords and locks of users. */

import { type Connection, passwordFrom } from '../../client/connect.ts'
import type { UserRecord } from '../../client/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { askHidden } from '../../views/human/elements/prompt.ts'
import { printJson } from '../../views/json/json.ts'
import { isInteractive } from '../../views/streams.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

export const userNamed = async (
  { api }: Connection,
  realm: string,
  name: string,
): Promise<UserRecord> => {
  const user = await api.users.find(realm, name)
  if (user === null)
    throw new CommandError(exitCodes.error, `there is no user "${name}" in realm ${realm}`, {
      hint: `search: iamctl get users --realm ${realm} --search TEXT`,
    })
  return user
}

/** Typed twice: a slip would lock the user out. */
const newPassword = async ({ flags }: Invocation, user: string): Promise<string> => {
  const file = flags['newPasswordFile']
  if (typeof file === 'string') return passwordFrom(file)
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

export const setPassword = (invocation: Invocation, name: string): Promise<void> =>
  withRealm(invocation, async (connection, realm) => {
    const { userId, username } = await userNamed(connection, realm, name)
    const temporary = invocation.flags['temporary'] === true
    const password = await newPassword(invocation, username)
    await connection.api.users.setPassword(realm, userId, password, temporary)
    if (invocation.output === 'json') printJson({ realm, userId, username, temporary })
    else
      note(
        invocation,
        `${username} has a new password${temporary ? ', to be changed at the next sign-in' : ''}; their sessions have ended`,
      )
  })

export const setLocked = (invocation: Invocation, name: string, locked: boolean): Promise<void> =>
  withRealm(invocation, async (connection, realm) => {
    const { userId, username } = await userNamed(connection, realm, name)
    const changed = await connection.api.users.setLocked(realm, userId, locked)
    const word = locked ? 'locked' : 'unlocked'
    if (invocation.output === 'json') printJson({ realm, userId, username, locked, changed })
    else note(invocation, `${username} is ${changed ? word : `${word} already`}`)
  })
