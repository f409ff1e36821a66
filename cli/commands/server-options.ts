/** `iamctl server …`: names, flags and help. The server itself is loaded only when one of them runs. */

import type { Command } from 'commander'

const startFlags = (command: Command): Command =>
  command
    .option('--host <address>', 'address to listen on (IAMCTL_HOST)')
    .option('--port <number>', 'port to listen on (IAMCTL_PORT)')
    .option('--base-url <url>', 'how users reach the server (IAMCTL_BASE_URL)')
    .option('--workers <number>', 'processes; more than one needs PostgreSQL (IAMCTL_WORKERS)')

const storageFlags = (command: Command): Command =>
  command
    .option('--database-url <url>', 'sqlite:PATH or postgres://… (IAMCTL_DATABASE_URL)')
    .option('--data <folder>', 'folder of the embedded database and its key (IAMCTL_DATA)')
    .option('--master-key-file <file>', 'file with the master key (IAMCTL_MASTER_KEY_FILE)')

export const addServerCommands = (program: Command): void => {
  const server = program.command('server').description('run and maintain the identity server')
  storageFlags(startFlags(server.command('start', { isDefault: true })))
    .description('start the server (this is what plain `iamctl server` does)')
    .addHelpText(
      'after',
      `
Every option is also a variable: --base-url is IAMCTL_BASE_URL. The flag wins.
Secrets are variables or files only: IAMCTL_MASTER_KEY, IAMCTL_BOOTSTRAP_ADMIN_PASSWORD.

Examples:
  iamctl server                                    SQLite in ./data, on port 8080
  iamctl server --data /var/lib/iamctl --base-url https://id.example
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server --workers 4`,
    )
    .action(async (flags: Record<string, unknown>) => {
      const { start } = await import('./server.ts')
      await start(flags)
    })
  storageFlags(server.command('rotate-master-key'))
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
