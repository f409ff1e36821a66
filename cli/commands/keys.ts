/** `iamctl keys …`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const rotateHelp = `
What happens:
  - A new key signs tokens and SAML assertions from this moment on. It was published before, so that nobody who keeps
    the realm's JWKS for a while meets a key that they do not know. Where it is not published for two minutes yet,
    because of a rotation just before or because it is a client's first, it signs when it is, and the key before it
    until then.
  - After a break-in use --fresh: a key is made now and signs at once. Applications that have read the realm's JWKS
    within the last minute may refuse its tokens until they read it again.
  - The key before it stays in the realm's JWKS: tokens that it signed stay valid until they expire.
  - The SAML signing certificate changes at the same moment. Service providers that read the realm's metadata follow;
    whoever pinned the old certificate must get the new one.
  - With --client the key is that of one client, for what is issued to it. The first rotation gives it its own.

Example:
  iamctl keys rotate --realm acme --yes`

export const addKeys = (program: Command): void => {
  const keys = program.command('keys').description('manage the signing keys of a realm or a client')
  const commands = [
    keys
      .command('list')
      .description('the key that signs, and those kept for verification')
      .addHelpText('after', '\nExample:\n  iamctl keys list --realm acme')
      .action(async (_flags, command: Command) => {
        const { listKeys } = await import('./run/keys.ts')
        await listKeys(invocationOf(command))
      }),
    keys
      .command('rotate')
      .description('sign with a new key; signatures of the old key stay valid')
      .option('--fresh', 'generate a new key now instead of using the prepared one')
      .option('--yes', 'do not ask')
      .addHelpText('after', rotateHelp)
      .action(async (_flags, command: Command) => {
        const { rotateKeys } = await import('./run/keys.ts')
        await rotateKeys(invocationOf(command))
      }),
    keys
      .command('delete')
      .description('remove a key that no longer signs')
      .argument('<id>', 'of the key')
      .option('--force', 'also a key with valid tokens, which become invalid')
      .option('--yes', 'do not ask')
      .addHelpText(
        'after',
        '\nExample:\n  iamctl keys delete 0198c0de-0000-7000-8000-000000000000 --realm acme',
      )
      .action(async (id: string, _flags, command: Command) => {
        const { deleteKey } = await import('./run/keys.ts')
        await deleteKey(invocationOf(command), id)
      }),
    keys
      .command('prune')
      .description('remove every key whose tokens have all expired')
      .option('--yes', 'do not ask')
      .addHelpText('after', '\nExample:\n  iamctl keys prune --realm acme --yes')
      .action(async (_flags, command: Command) => {
        const { pruneKeys } = await import('./run/keys.ts')
        await pruneKeys(invocationOf(command))
      }),
  ]
  for (const command of commands) {
    command.option('--client <id>', 'keys of this client instead of the realm')
    addRealmOptions(command)
    addOutputOptions(command)
  }
}
