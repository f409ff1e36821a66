/** YAML documents as text. */

import { type Document, type ToStringOptions, visit } from 'yaml'
import { escapedInQuotes, hasControls } from './control-characters.ts'

/** Text with characters that a terminal obeys is double-quoted, where YAML can escape them (YAML 1.2.2 §5.7). */
export const documentText = (document: Document, options: ToStringOptions): string => {
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value !== 'string') return
      // Unquoted, `<<` is the merge key (yaml.org/type/merge.html).
      if (node.value === '<<' || hasControls(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return escapedInQuotes(document.toString(options))
}
