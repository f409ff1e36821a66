/** `iamctl schema`. */

import { plainCommand } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'

export const schema = plainCommand({
  name: 'schema',
  description: 'print the JSON Schema of a realm file, of an overlay, of iamctl.yaml or of a kind',
  help: `
For editors and other programs (JSON Schema 2020-12). In a realm file:
  # yaml-language-server: $schema=.iamctl/realm.schema.json

Examples:
  iamctl schema > .iamctl/realm.schema.json
  iamctl schema overlay > .iamctl/overlay.schema.json
  iamctl schema client`,
  arguments: [argument('[name]', 'realm, overlay, estate or a kind (default: realm)')],
  run: async (_flags, _program, name = 'realm') => {
    const { editorSchemas } = await import('#schemas/editor/editor-schemas.ts')
    const { findKind } = await import('../../client/kind-names.ts')
    const schemas = editorSchemas()
    printJson(schemas.get(name) ?? schemas.get(findKind(name).kind))
  },
})
