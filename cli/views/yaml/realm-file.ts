/** A realm file that a command writes from something else than a realm. */

import { Document, visit } from 'yaml'
import { documentText } from '../../document-text.ts'
import { escapeText } from '../../load/variables/template.ts'
import { printOut } from '../streams.ts'

export const printRealmFile = (file: Readonly<Record<string, unknown>>): void => {
  const document = new Document(file, { aliasDuplicateObjects: false })
  // What looks like a reference is none: it is what the other side wrote.
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string') node.value = escapeText(node.value)
    },
  })
  printOut(documentText(document, { lineWidth: 100, flowCollectionPadding: true }))
}
