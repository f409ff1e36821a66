/** `iamctl users …`: names and flags. */

import { type Command, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const addSetPassword = (users: Command): Command =>
  users
    .command('set-password')
    .description('set the password of a user and end their sessions')
    .argument('<user>', 'username, email address or id')
    .option('--new-password-file <file>', 'file with the new password; - is stdin; else a prompt')
    .option('--temporary', 'the user must change it at the next sign-in')
    .addHelpText(
      'after',
      `
A password is never an argument: other users of the machine can see arguments.

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

const addImport = (users: Command): Command =>
  users
    .command('import')
    .description('import users with password hashes, roles and groups: all or none')
    .argument('<file>', 'users as JSON, one a line or a list, or an export of Keycloak; - is stdin')
    .addOption(
      new Option('--if-exists <what>', 'what becomes of users who are there already')
        .choices(['fail', 'skip', 'overwrite'])
        .default('fail'),
    )
    .option('--dry-run', 'show the result and change nothing')
    .addHelpText(
      'after',
      `
Each user has a username and may have email, firstName, lastName, enabled, attributes and
credentials: [{ "type": "password", "value": HASH }], where HASH is of Argon2, bcrypt, PBKDF2 or
scrypt. It is replaced by an Argon2id hash when the user signs in. { "type": "password", "password":
TEXT } gives the password itself, which the server hashes; the password policy is not applied to it.
roles (names), clientRoles (client/role) and groups (paths) are assigned if the realm has them; unknown
ones are listed and not assigned: apply the realm first. The import is refused if a role or group grants
a permission that you do not hold; groups need manage-organizations.

Exports of Keycloak of every version are read as they are. Service accounts are skipped.

Each error names its line, and nothing is imported: exit code 3 if the file is not valid, 6 if a name exists. NDJSON is
read line by line; a list, and standard input, is held in memory.

Examples:
  iamctl users import users.ndjson --realm acme --dry-run
  iamctl users import keycloak-users.json --realm acme --if-exists skip`,
    )
    .action(async (file: string, _flags, command: Command) => {
      const { importUsers } = await import('./run/import-users.ts')
      await importUsers(invocationOf(command), file)
    })

export const addUsers = (program: Command): void => {
  const users = program
    .command('users')
    .description('manage users: passwords, locks, bulk import (`iamctl get users` lists them)')
  const commands = [
    addSetPassword(users),
    addImport(users),
    addLock(users, 'lock', 'keep a user from signing in'),
    addLock(users, 'unlock', 'let a user sign in again, also after too many failures'),
  ]
  for (const command of commands) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
