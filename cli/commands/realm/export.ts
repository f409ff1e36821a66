/** `iamctl export`. */

import { conversation } from '../../invocation/command.ts'
import { choice, flags, text, toggle } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import type { ExportView } from '../../transfer/export.ts'

export const exportRealm = conversation({
  name: 'export',
  description: 'write a realm as YAML that plans to no changes',
  help: `
Secrets are never exported: a comment marks each one, and a file without a secret leaves the stored secret unchanged.
\`-o json\` writes the format of \`iamctl import\`; with --users all --ids it is a backup of configuration and users.

Examples:
  iamctl export --realm acme                          to stdout
  iamctl export --realm acme --out acme.yaml
  iamctl export --realm acme --out realms/            realms/acme.yaml
  iamctl export --realm acme --out realms/ --split    one file per section, in realms/acme/
  iamctl export --realm acme -o json --users all --ids > acme.json`,
  flags: flags(
    {
      out: text('<path>', 'file (.yaml, .json) or folder to write to, instead of stdout'),
      split: toggle('one file per section'),
      overwrite: toggle('replace files that exist'),
      users: choice('<which>', 'managed or all; only with -o json', ['managed', 'all']),
      ids: toggle('with ids; only with -o json'),
    },
    realmFlags,
  ),
  views: {
    yaml: async () => (await import('../../views/yaml/realm.ts')).yamlExport,
    json: async () => (await import('../../views/json/realm.ts')).jsonExport,
  },
  run: async (call, view: ExportView) => {
    const place = await openRealm(call)
    const { writeExport } = await import('../../transfer/export.ts')
    await writeExport(call, place, view)
  },
})
