/** `iamctl explain` and `iamctl schema`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions } from './options.ts'

export const addExplain = (program: Command): void => {
  const explain = program
    .command('explain')
    .description('explain a kind or a field: type, default, limits, references')
    .argument('[kind.field]', 'such as client.redirectUris; without it, the kinds there are')
    .addHelpText(
      'after',
      `
Works offline, for the version of this program. \`realm\` explains the sections of a file, \`estate\` iamctl.yaml.

Examples:
  iamctl explain
  iamctl explain client
  iamctl explain settings.passwordPolicy.length
  iamctl explain client.roles.name
  iamctl explain estate.guards`,
    )
    .action(async (words: string | undefined, _flags, command: Command) => {
      const { explain: run } = await import('./run/explain.ts')
      run(invocationOf(command), words)
    })
  addOutputOptions(explain)
}

export const addSchema = (program: Command): void => {
  program
    .command('schema')
    .description(
      'print the JSON Schema of a realm file, of an overlay, of iamctl.yaml or of a kind',
    )
    .argument('[name]', 'realm, overlay, estate or a kind; realm unless given')
    .addHelpText(
      'after',
      `
For editors and other programs (JSON Schema 2020-12). In a realm file:
  # yaml-language-server: $schema=.iamctl/realm.schema.json

Examples:
  iamctl schema > .iamctl/realm.schema.json
  iamctl schema overlay > .iamctl/overlay.schema.json
  iamctl schema client`,
    )
    .action(async (name: string | undefined) => {
      const { schema: run } = await import('./run/explain.ts')
      run(name)
    })
}
