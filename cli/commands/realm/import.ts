/** `iamctl import`. */

import { conversation } from '../../invocation/command.ts'
import { flags, text, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import type { ImportView } from '../../transfer/import.ts'
import { importSamlMetadata } from './import-saml-metadata.ts'

export const importRealm = conversation({
  name: 'import',
  description: 'write every document of an export to a realm; delete nothing',
  help: `
Imported documents have no owner. To keep a realm in files, use \`iamctl apply\`.
Secrets that the server generates for new documents are printed once.

Examples:
  iamctl import acme.json --realm acme --plan
  iamctl import acme.json --realm acme-copy --from-realm acme`,
  arguments: [argument('<file>', 'an export as JSON, or a realm as YAML; - for stdin')],
  flags: flags(
    {
      plan: toggle('only show what would change'),
      ...approvalFlag,
      fromRealm: text('<realm>', 'realm of the export, if it is another one'),
    },
    realmFlags,
  ),
  commands: [importSamlMetadata],
  views: {
    human: async () => (await import('../../views/human/live/import.ts')).importView,
    json: async () => (await import('../../views/json/trials.ts')).importView,
  },
  run: async (call, view: ImportView, file) => {
    const { documentIn, importInto } = await import('../../transfer/import.ts')
    const content = await documentIn(file)
    await importInto(call, await openRealm(call), content, view)
  },
})
