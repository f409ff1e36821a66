/** `iamctl users …`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const addSetPassword = (users: Command): Command =>
  users
    .command('set-password')
    .description('set the password of a user and end their sessions')
    .argument('<user>', 'username, email address or id')
    .option('--new-password-file <file>', 'file with the new password; - is stdin; else a prompt')
    .option('--temporary', 'it must be changed at the next sign-in')
    .addHelpText(
      'after',
      `
A password is never an argument: others on the machine see those.

Examples:
  iamctl users set-password alice --realm acme
  iamctl users set-password alice --realm acme --temporary --new-password-file - < password.txt`,
    )
    .action(async (user: string, _flags, command: Command) => {
      const { setPassword } = await import('./run/users.ts')
      await setPassword(invocationOf(command), user)
    })

const addLock = (users: Command, name: 'lock' | 'unlock', description: string): Command =>
  users
    .command(name)
    .description(description)
    .argument('<user>', 'username, email address or id')
    .addHelpText('after', `\nExample:\n  iamctl users ${name} alice --realm acme`)
    .action(async (user: string, _flags, command: Command) => {
      const { setLocked } = await import('./run/users.ts')
      await setLocked(invocationOf(command), user, name === 'lock')
    })

export const addUsers = (program: Command): void => {
  const users = program
    .command('users')
    .description('help users: passwords and locks (`iamctl get users` lists them)')
  const commands = [
    addSetPassword(users),
    addLock(users, 'lock', 'keep a user from signing in'),
    addLock(users, 'unlock', 'let a user sign in again, also after too many failures'),
  ]
  for (const command of commands) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
