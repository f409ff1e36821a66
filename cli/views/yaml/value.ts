/** Values as YAML. */

import { stringify } from 'yaml'
import { harmlessLines } from '../human/text.ts'
import { printOut } from '../streams.ts'

/** Never folded: a line that is cut in two cannot be searched for. */
export const yamlText = (value: unknown): string =>
  stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })

export const printYaml = (value: unknown): void => printOut(harmlessLines(yamlText(value)))
