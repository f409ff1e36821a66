/** `iamctl clients …`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const secretHelp = `
Without --rotate the secret is printed if the realm keeps secrets readable (clientSecretStorage: revealable). With --rotate
the server generates a new secret and prints it once. The secret before it stays valid for --grace seconds.

Examples:
  iamctl clients secret web --rotate --realm acme --yes
  iamctl clients secret web --rotate --grace 3600 --realm acme --yes -o json`

export const addClients = (program: Command): void => {
  const clients = program.command('clients').description('manage the secrets of clients')
  const secret = clients
    .command('secret')
    .description('show or replace the secret of a client')
    .argument('<client>', 'client id')
    .option('--rotate', 'generate a new secret and print it once')
    .option('--grace <seconds>', 'time for which the old secret stays valid; 0')
    .option('--yes', 'do not ask')
    .addHelpText('after', secretHelp)
    .action(async (client: string, _flags, command: Command) => {
      const { clientSecret } = await import('./run/clients.ts')
      await clientSecret(invocationOf(command), client)
    })
  addOutputOptions(addRealmOptions(secret))
}
