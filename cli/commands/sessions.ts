/** `iamctl sessions …`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const user = ['--user <user>', 'only of this user: username, email address or id'] as const

export const addSessions = (program: Command): void => {
  const sessions = program.command('sessions').description('list and end sessions')
  const list = sessions
    .command('list')
    .description('list active sessions, last used first')
    .option(...user)
    .addHelpText('after', '\nExample:\n  iamctl sessions list --realm acme --user alice')
    .action(async (_flags, command: Command) => {
      const { listSessions } = await import('./run/sessions.ts')
      await listSessions(invocationOf(command))
    })
  const revoke = sessions
    .command('revoke')
    .description('end a session, or all sessions of a user')
    .argument('[id]', 'of the session')
    .option(user[0], 'all sessions of this user: username, email address or id')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
Examples:
  iamctl sessions revoke 0198c0de-0000-7000-8000-000000000000 --realm acme
  iamctl sessions revoke --user alice --realm acme --yes`,
    )
    .action(async (id: string | undefined, _flags, command: Command) => {
      const { revokeSessions } = await import('./run/sessions.ts')
      await revokeSessions(invocationOf(command), id)
    })
  for (const command of [list, revoke]) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
