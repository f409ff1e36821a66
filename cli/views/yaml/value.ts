/** Values as YAML. */

import { Document } from 'yaml'
import { documentText } from '../../document-text.ts'
import { printOut } from '../streams.ts'

/** Never folded: a line that is cut in two cannot be searched for. */
export const yamlText = (value: unknown): string =>
  documentText(new Document(value, { aliasDuplicateObjects: false }), { lineWidth: 0 })

export const printYaml = (value: unknown): void => printOut(yamlText(value))
