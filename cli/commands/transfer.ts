/** `iamctl export` and `iamctl import`: names and flags. */

import { type Command, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

export const addExport = (program: Command): void => {
  const exporting = program
    .command('export')
    .description('write a realm as YAML that plans to no changes')
    .option('--out <folder>', 'write files there, instead of to stdout')
    .option('--split', 'one file per section')
    .option('--overwrite', 'replace files that exist')
    .addOption(
      new Option('--users <which>', 'managed or all; only with -o json').choices([
        'managed',
        'all',
      ]),
    )
    .option('--ids', 'with ids; only with -o json')
    .addHelpText(
      'after',
      `
Secrets are never exported: a comment marks each one, and a file without a secret leaves the stored secret unchanged.
\`-o json\` writes the format of \`iamctl import\`; with --users all --ids it is a backup of configuration and users.

Examples:
  iamctl export --realm acme                       to stdout
  iamctl export --realm acme --out realms/ --split one file per section, in realms/acme/
  iamctl export --realm acme -o json --users all --ids > acme.json`,
    )
    .action(async (_flags, command: Command) => {
      const { exportRealm: run } = await import('./run/transfer.ts')
      await run(invocationOf(command))
    })
  addRealmOptions(exporting)
  addOutputOptions(exporting, ['yaml', 'json'])
}

export const addImport = (program: Command): void => {
  const importing = program
    .command('import')
    .description('write every document of an export to a realm; delete nothing')
    .argument('<file>', 'an export as JSON, or a realm as YAML; - for stdin')
    .option('--plan', 'only show what would change')
    .option('--auto-approve', 'do not ask')
    .option('--from-realm <realm>', 'realm of the export, if it is another one')
    .addHelpText(
      'after',
      `
Imported documents have no owner. To keep a realm in files, use \`iamctl apply\`.
Secrets that the server generates for new documents are printed once.

Examples:
  iamctl import acme.json --realm acme --plan
  iamctl import acme.json --realm acme-copy --from-realm acme`,
    )
    .action(async (file: string, _flags, command: Command) => {
      const { importRealm: run } = await import('./run/transfer.ts')
      await run(invocationOf(command), file)
    })
  addRealmOptions(importing)
  addOutputOptions(importing)
}
