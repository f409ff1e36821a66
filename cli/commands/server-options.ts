/** `iamctl server …`: names, flags and help. The server itself is loaded only when one of them runs. */

import { type Command, Help, Option } from 'commander'

/** Flag, what it takes (nothing: a switch), and what it is; the variable's name follows from the flag's. */
type Flag = readonly [name: string, value: string, help: string]

const addressFlags: readonly Flag[] = [
  ['host', 'address', 'address to listen on; 0.0.0.0 or :: for all; 127.0.0.1 unless given'],
  ['port', 'number', 'port to listen on; 8080 unless given'],
  ['base-url', 'url', 'origin that users and clients see; http://127.0.0.1:<port> unless given'],
  ['trusted-proxies', 'ranges', 'proxies whose X-Forwarded-For is believed, by commas'],
]

const processFlags: readonly Flag[] = [
  ['workers', 'number', 'processes that share the port; more than one needs PostgreSQL'],
  ['log-level', 'level', 'trace, debug, info, warn, error, fatal or silent; info unless given'],
  ['exit-with-parent', '', 'whether it stops when its standard input ends'],
]

const storageFlags: readonly Flag[] = [
  ['database-url', 'url', 'sqlite:PATH or postgres://…; sqlite:<data>/iamctl.db unless given'],
  ['data', 'folder', 'folder of the embedded database and its master key; ./data unless given'],
  ['master-key-file', 'file', 'file with the master key; <data>/master.key where it is embedded'],
]

const bootstrapFlags: readonly Flag[] = [
  ['bootstrap-admin-username', 'name', 'first administrator of an empty database; admin'],
  ['bootstrap-admin-password-file', 'file', 'file with the password; else one is made and shown'],
]

const limitFlags: readonly Flag[] = [
  ['body-limit', 'bytes', 'largest body'],
  ['changeset-limit', 'bytes', 'largest changeset or import of a realm'],
  ['header-limit', 'bytes', 'largest request line and headers together'],
  ['url-limit', 'bytes', 'longest path and query'],
  ['headers-timeout', 'seconds', 'time in which the headers must have arrived'],
  ['request-timeout', 'seconds', 'time in which the whole request must have arrived'],
  ['keep-alive-timeout', 'seconds', 'time an idle connection stays open'],
  ['shutdown-delay', 'seconds', 'time a stopping server still takes requests, no longer ready'],
  ['shutdown-timeout', 'seconds', 'time that requests under way get when the server stops'],
]

const outsideFlags: readonly Flag[] = [
  ['breach-file', 'file', 'passwords known from breaches: sorted lines SHA1:count'],
  ['breach-url', 'url', 'service that is asked for them by the first 5 digits of a hash'],
  ['outgoing-allow', 'targets', 'private ranges or hosts that may be called, by commas'],
  ['outgoing-allow-http', '', 'whether plain http may be used'],
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
  addFlags(start, 'Address:', addressFlags)
  addFlags(start, 'Process:', processFlags)
  addStorageFlags(start)
  addFlags(start, 'First administrator:', bootstrapFlags)
  addFlags(start, 'Limits:', limitFlags)
  return addFlags(start, 'Other services:', outsideFlags)
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
    .description('seal every secret anew under a new master key')
    .addHelpText(
      'after',
      `
With a key made by the server (<data>/master.key) a new one is made. Where you supply the key, put the new one
first and keep the old one behind it, on every node: IAMCTL_MASTER_KEY="new,old"; run this; then drop the old one.
A server may run meanwhile on PostgreSQL. It can be repeated after a crash.`,
    )
    .action(async (flags: Record<string, unknown>) => {
      const { rotateMasterKey } = await import('./server.ts')
      await rotateMasterKey(flags)
    })
}
