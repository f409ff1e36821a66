/** `iamctl adopt`. */

import type { AdoptView } from '../../adopt/adopt-estate.ts'
import { exitCodes } from '../../exit.ts'
import { conversation } from '../../invocation/command.ts'
import { flags, list, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { readingOf } from '../../invocation/reading.ts'
import { openConnection } from '../../invocation/realm.ts'
import { fileFlags, serverFlags } from '../../invocation/shared-flags.ts'

export const adopt = conversation({
  name: 'adopt',
  description: 'write changes that were made on the server into the files',
  help: `
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
  arguments: [argument('[kind/key...]', 'only these documents, and what is below them')],
  flags: flags(
    {
      path: list('<path>', 'files and folders', {
        fallback: 'the paths of iamctl.yaml, else realms/',
      }),
      dryRun: toggle('write nothing; print the change as a diff'),
      unmanaged: toggle('also adopt documents without an owner'),
      replaceVariables: toggle(`write values in the place of \${var:…} and \${file:…}`),
    },
    fileFlags,
    serverFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/estate/adopt.ts')).adoptView,
    json: async () => (await import('../../views/json/adopt.ts')).adoptView,
  },
  run: async (call, view: AdoptView, names) => {
    const { adoptEstate } = await import('../../adopt/adopt-estate.ts')
    const reading = { ...readingOf(call, call.flags.path, view), flags: call.flags }
    const outcome = await adoptEstate(reading, names, () => openConnection(call))
    view.show(outcome, call.quiet)
    return outcome.refused.length > 0 ? exitCodes.guarded : undefined
  },
})
