/** `iamctl server …`: names, flags and help. The server itself is loaded only when one of them runs. */

import { type Command, Help, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions } from './options.ts'

/** Flag, what it takes (nothing: a switch), and what it is; the variable's name follows from the flag's. */
type Flag = readonly [name: string, value: string, help: string]

const addressFlags: readonly Flag[] = [
  ['host', 'address', 'address to listen on; 0.0.0.0 or :: for all; 127.0.0.1 unless given'],
  ['port', 'number', 'port to listen on; 8080 unless given'],
  ['base-url', 'url', 'origin that users and clients see; http://127.0.0.1:<port> unless given'],
  ['trusted-proxies', 'ranges', 'proxies whose X-Forwarded-For is trusted, separated by commas'],
]

const processFlags: readonly Flag[] = [
  ['workers', 'number', 'processes that share the port; more than one needs PostgreSQL'],
  ['log-level', 'level', 'trace, debug, info, warn, error, fatal or silent; info unless given'],
  ['log-messages', '', 'also write messages to users to the log, with codes; for local work only'],
  ['tuning-off', 'names', 'performance measures to switch off, separated by commas; for diagnosis'],
  ['exit-with-parent', '', 'stop when standard input ends'],
]

const storageFlags: readonly Flag[] = [
  ['database-url', 'url', 'sqlite:PATH or postgres://…; sqlite:<data>/iamctl.db unless given'],
  ['data', 'folder', 'folder of the embedded database and its master key; ./data unless given'],
  ['master-key-file', 'file', 'file with the master key; <data>/master.key with SQLite'],
]

const bootstrapFlags: readonly Flag[] = [
  ['bootstrap-admin-username', 'name', 'first administrator of an empty database; admin'],
  [
    'bootstrap-admin-password-file',
    'file',
    'file with the password; a random one is printed unless given',
  ],
]

const limitFlags: readonly Flag[] = [
  ['body-limit', 'bytes', 'largest request body'],
  ['changeset-limit', 'bytes', 'largest changeset or import of a realm'],
  ['header-limit', 'bytes', 'largest request line and headers together'],
  ['url-limit', 'bytes', 'longest path and query'],
  ['headers-timeout', 'seconds', 'time limit for the headers of a request'],
  ['request-timeout', 'seconds', 'time limit for a whole request'],
  ['keep-alive-timeout', 'seconds', 'time an idle connection stays open'],
  [
    'shutdown-delay',
    'seconds',
    'time for which a stopping server still serves, with readiness OUT_OF_SERVICE',
  ],
  ['shutdown-timeout', 'seconds', 'time limit for requests in progress when the server stops'],
]

const outsideFlags: readonly Flag[] = [
  ['breach-file', 'file', 'breached passwords: sorted lines SHA1:count'],
  [
    'breach-url',
    'url',
    'range API for breached passwords, queried by the first 5 digits of a SHA-1 hash',
  ],
  [
    'outgoing-allow',
    'targets',
    'private ranges or hosts that the server may call, separated by commas',
  ],
  ['outgoing-allow-http', '', 'allow outgoing calls over plain http'],
]

const variableOf = (flag: string): string => `IAMCTL_${flag.toUpperCase().replaceAll('-', '_')}`

const addFlags = (command: Command, heading: string, flags: readonly Flag[]): Command => {
  for (const [name, value, help] of flags) {
    const form = value === '' ? `--${name}` : `--${name} <${value}>`
    command.addOption(new Option(form, `${help} (${variableOf(name)})`).helpGroup(heading))
  }
  return command
}

const addStorageFlags = (command: Command): Command => addFlags(command, 'Storage:', storageFlags)

const addAllFlags = (command: Command): Command => {
  addFlags(command, 'Address:', addressFlags)
  addFlags(command, 'Process:', processFlags)
  addStorageFlags(command)
  addFlags(command, 'First administrator:', bootstrapFlags)
  addFlags(command, 'Limits:', limitFlags)
  return addFlags(command, 'Other services:', outsideFlags)
}

/** Without those that are about the output, or about the command itself: the server knows only its own. */
const serverFlags = (command: Command): Record<string, unknown> => {
  const output = addOutputOptions(command.createCommand()).options
  const others = new Set([...output.map((one) => one.attributeName()), 'dryRun'])
  return Object.fromEntries(Object.entries(command.opts()).filter(([name]) => !others.has(name)))
}

const startHelp = `
Every option is also a variable, whose name is in brackets. The flag wins.
Secrets are variables or files only: IAMCTL_MASTER_KEY, IAMCTL_BOOTSTRAP_ADMIN_PASSWORD (or …_PASSWORD_HASH).

Examples:
  iamctl server                                    SQLite in ./data, on port 8080
  iamctl server --data /var/lib/iamctl --base-url https://id.example
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server --workers 4`

const addStart = (server: Command): Command => {
  const start = server
    .command('start', { isDefault: true })
    .description('start the server (this is what plain `iamctl server` does)')
    .addHelpText('after', startHelp)
    .action(async (flags: Record<string, unknown>) => {
      const { start } = await import('./server.ts')
      await start(flags)
    })
  return addAllFlags(start)
}

const addCheckConfig = (server: Command): void => {
  const check = server
    .command('check-config')
    .description('check whether the server would start, and report unsafe settings')
    .addHelpText(
      'after',
      `
Takes every option and variable of the server and changes nothing. Exit codes: 0 the server would start; 1 it would not.

Examples:
  iamctl server check-config --data /var/lib/iamctl --base-url https://id.example
  iamctl server check-config -o json`,
    )
    .action(async (_flags, command: Command) => {
      const { checkConfig } = await import('./server.ts')
      await checkConfig(invocationOf(command), serverFlags(command))
    })
  addOutputOptions(addAllFlags(check))
}

const addBackup = (server: Command): void => {
  const backup = server
    .command('backup')
    .description('write a consistent snapshot of the database to a file, while the server runs')
    .argument('<file>', 'file to create, with mode 0600')
    .addHelpText(
      'after',
      `
The file is a consistent snapshot. \`iamctl server restore\` writes it to SQLite or PostgreSQL, independent of its origin.
Secrets are encrypted under the master key, which is not in the file: keep both.

Examples:
  iamctl server backup /backups/$(date +%F).iamctl --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server backup iam.iamctl`,
    )
    .action(async (file: string, _flags, command: Command) => {
      const { backup: run } = await import('./server.ts')
      await run(invocationOf(command), serverFlags(command), file)
    })
  addOutputOptions(addStorageFlags(backup))
}

const addRestore = (server: Command): void => {
  const restore = server
    .command('restore')
    .description('fill a new database from a backup, all or nothing')
    .argument('<file>', 'file of `iamctl server backup`')
    .addHelpText(
      'after',
      `
The database must not exist (SQLite) or must be empty (PostgreSQL). Start the server afterwards: it migrates the schema of
an older version. The whole file is checked before the first write. A backup of SQLite can be restored to PostgreSQL and
the other way round. The master key must be the key of the backup.

Examples:
  iamctl server restore /backups/2026-11-01.iamctl --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server restore iam.iamctl`,
    )
    .action(async (file: string, _flags, command: Command) => {
      const { restore: run } = await import('./server.ts')
      await run(invocationOf(command), serverFlags(command), file)
    })
  addOutputOptions(addStorageFlags(restore))
}

const addMigrate = (server: Command): void => {
  const migrate = server
    .command('migrate')
    .description('migrate the database schema, as a start of the server does')
    .option('--dry-run', 'list the migrations and change nothing')
    .addHelpText(
      'after',
      `
Examples:
  iamctl server migrate --dry-run --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server migrate`,
    )
    .action(async (flags: Record<string, unknown>, command: Command) => {
      const { migrate: run } = await import('./server.ts')
      await run(invocationOf(command), serverFlags(command), flags['dryRun'] === true)
    })
  addOutputOptions(addStorageFlags(migrate))
}

const addResetAdmin = (server: Command): void => {
  const reset = server
    .command('reset-admin')
    .description('reset the password of an administrator of the master realm')
    .argument('[username]', 'user who holds realm-admin', 'admin')
    .addHelpText(
      'after',
      `
The account gets a random password, printed once, which must be changed at the next sign-in; second factors, sessions and
locks are removed. The reset is audited. It needs the database and the master key of the server; with SQLite, stop the
server first.

Examples:
  iamctl server reset-admin --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server reset-admin alice`,
    )
    .action(async (username: string, _flags, command: Command) => {
      const { resetAdmin: run } = await import('./server.ts')
      await run(invocationOf(command), serverFlags(command), username)
    })
  addOutputOptions(addStorageFlags(reset))
}

export const addServerCommands = (program: Command): void => {
  const server = program.command('server').description('run and maintain the identity server')
  const start = addStart(server)
  // Its own help is that of what it does by default, and the list of its commands.
  server.addHelpText('after', startHelp).configureHelp({
    sortSubcommands: true,
    visibleOptions: (command) => new Help().visibleOptions(command === server ? start : command),
  })

  addStorageFlags(server.command('rotate-master-key'))
    .description('encrypt every secret again under a new master key')
    .addHelpText(
      'after',
      `
A key that the server generated (<data>/master.key) is replaced. If you supply the key, put the new key first and keep the old
one behind it, on every node: IAMCTL_MASTER_KEY="new,old"; run this command; then remove the old key. With PostgreSQL the
server may keep running. The command is safe to repeat after a crash.`,
    )
    .action(async (flags: Record<string, unknown>) => {
      const { rotateMasterKey } = await import('./server.ts')
      await rotateMasterKey(flags)
    })

  addCheckConfig(server)
  addBackup(server)
  addRestore(server)
  addMigrate(server)
  addResetAdmin(server)
}
