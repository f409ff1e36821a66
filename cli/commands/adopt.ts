/** `iamctl adopt`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileFlags, addOutputOptions, addServerOptions, collect } from './options.ts'

export const addAdopt = (program: Command): void => {
  const adopt = program
    .command('adopt')
    .description('write changes that were made on the server into the files')
    .argument('[kind/key...]', 'only these documents, and what is below them')
    .option('--path <path>', 'files and folders; the paths of iamctl.yaml, else realms/', collect)
    .option('--dry-run', 'write nothing; print the change as a diff')
    .option('--unmanaged', 'also adopt documents without an owner')
    .option('--replace-variables', `write values in the place of \${var:…} and \${file:…}`)
    .addHelpText(
      'after',
      `
Each value is changed in the file that gives it: the overlay if it has one, else the realm file. A field that has its
default again loses its line, a deleted document its entry; a new document gets an entry in its section. Comments, order,
quotes, anchors and line ends stay. Before a file is written, adopt checks that the plan is empty for the adopted documents
and unchanged for all others. Secrets are never written.

Reported with reason and line, not edited (exit 7): values from a variable (unless --replace-variables), values from an
anchor with other uses, documents that the files rename.

Examples:
  iamctl adopt --dry-run                         all that \`iamctl drift\` shows, as a diff
  iamctl adopt client/web group/Staff            these, with what is below them
  iamctl adopt --overlay overlays/production     values of the overlay go there
  iamctl adopt client/made-by-hand               a document that no file has yet`,
    )
    .action(async (names: string[], _flags, command: Command) => {
      const { adoptLive } = await import('./run/adopt.ts')
      await adoptLive(invocationOf(command), names)
    })
  addFileFlags(adopt)
  addServerOptions(adopt)
  addOutputOptions(adopt)
}
