/** Shows what the registry knows: in words, or as JSON Schema. */

import { editorSchemas } from '#schemas/editor/editor-schemas.ts'
import { findKind } from '../../client/kind-names.ts'
import { explain as explainWords, kindList } from '../../explain/explain.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { showExplanation } from '../../views/human/explain.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'

const listKinds = ({ output }: Invocation): void => {
  const list = kindList()
  if (output === 'json') printJson(list)
  else
    printTable(
      ['kind', 'in files', 'what it is'],
      list.map(({ kind, section, doc }) => [kind, section, doc]),
    )
}

export const explain = (invocation: Invocation, words: string | undefined): void => {
  if (words === undefined) {
    listKinds(invocation)
    return
  }
  const explanation = explainWords(words)
  if (invocation.output === 'json') printJson(explanation)
  else showExplanation(explanation)
}

export const schema = (name = 'realm'): void => {
  const schemas = editorSchemas()
  printJson(schemas.get(name) ?? schemas.get(findKind(name).kind))
}
