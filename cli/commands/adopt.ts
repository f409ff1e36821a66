/** `iamctl adopt`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileFlags, addOutputOptions, addServerOptions, collect } from './options.ts'

export const addAdopt = (program: Command): void => {
  const adopt = program
    .command('adopt')
    .description('write what was changed by hand on the server back into the files')
    .argument('[kind/key...]', 'only these documents, and what is below them')
    .option('--path <path>', 'files and folders; the paths of iamctl.yaml, else realms/', collect)
    .option('--dry-run', 'write nothing; print the change as a diff')
    .option('--unmanaged', 'also documents that no estate owns, in the lists of the files')
    .option('--replace-variables', `write values in the place of \${var:…} and \${file:…}`)
    .addHelpText(
      'after',
      `
Every value is changed where the files give it: in the overlay that does, else in the file. A field that is the default
again loses its line, a document that was deleted its entry; one that was made gets an entry in its section. Comments,
order, quotes, anchors and line ends stay. Afterwards the plan is empty for what was adopted, and the same as before for
everything else: that is checked before a file is written. Secrets are never written.

Left as they are, with the reason and the line (exit 7): values that come from a variable (--replace-variables), or from an
anchor that others repeat; documents that the files rename.

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
