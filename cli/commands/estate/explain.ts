/** `iamctl explain`. */

import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'

export const explain = command({
  name: 'explain',
  description: 'explain a kind or a field: type, default, limits, references',
  help: `
Works offline, for the version of this program. \`realm\` explains the sections of a file, \`estate\` iamctl.yaml.

Examples:
  iamctl explain
  iamctl explain client
  iamctl explain settings.passwordPolicy.length
  iamctl explain client.roles.name
  iamctl explain estate.guards`,
  arguments: [
    argument('[kind.field]', 'such as client.redirectUris; without it, the kinds there are'),
  ],
  run: async (_call, words) => {
    const { explain: explainWords, kindList } = await import('../../explain/explain.ts')
    return words === undefined ? { kinds: kindList() } : { explanation: explainWords(words) }
  },
  views: {
    human: async () => (await import('../../views/human/estate/explain.ts')).showExplained,
    json: () => (found) => printJson('kinds' in found ? found.kinds : found.explanation),
  },
})
