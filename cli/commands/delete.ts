/** `iamctl delete`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

export const addDelete = (program: Command): void => {
  const remove = program
    .command('delete')
    .description('delete a document of a realm')
    .argument('<kind>', 'such as client')
    .argument('<key>', 'natural key or id')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
The next apply creates a document again that a file declares: remove it from the file instead.

Examples:
  iamctl delete client web --realm acme
  iamctl delete group /Staff/Helpdesk --realm acme --yes`,
    )
    .action(async (kind: string, key: string, _flags, command: Command) => {
      const { remove: run } = await import('./run/delete.ts')
      await run(invocationOf(command), kind, key)
    })
  addRealmOptions(remove)
  addOutputOptions(remove)
}
