/** The explanation of a kind or a field for the terminal. */

import type { Explanation, FieldSummary, kindList } from '../../../explain/explain.ts'
import { printOut } from '../../streams.ts'
import { printTable, tableLines } from '../elements/table.ts'
import { harmless, onOut } from '../elements/text.ts'

type KindList = ReturnType<typeof kindList>

const shown = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const fact = (name: string, value: string): string[] =>
  value === '' ? [] : [`  ${onOut('dim', name.padEnd(12))} ${harmless(value)}`]

const list = (name: string, values: readonly string[]): string[] =>
  values.flatMap((value, index) => fact(index === 0 ? name : '', value))

const kindFacts = ({ kind }: Explanation): string[] => {
  if (kind === null) return []
  const { section, key, permissions, pruned, example } = kind
  const { read, write } = permissions
  return [
    ...fact('in files', section),
    ...fact('named by', key),
    ...fact('permissions', read === write ? write : `${read} to read, ${write} to write`),
    ...(pruned ? [] : fact('prune', 'never: it is not deleted when it leaves the files')),
    ...fact('example', example === undefined ? '' : JSON.stringify(example)),
  ]
}

const fieldLines = (fields: readonly FieldSummary[]): string[] => {
  if (fields.length === 0) return []
  const rows = fields.map(({ name, type, required, default: value, doc }) => [
    required ? `${name} *` : name,
    type,
    shown(value),
    doc,
  ])
  const [head = '', ...lines] = tableLines(['FIELD', 'TYPE', 'DEFAULT', ''], rows)
  const star = fields.some(({ required }) => required) ? ['', '* must be given'] : []
  return [onOut('bold', head), ...lines, ...star]
}

const choiceLines = (choices: Explanation['choices']): string[] => {
  if (choices.length === 0) return []
  const hasOwners = choices.some(({ of }) => of !== undefined)
  const rows = choices.map(({ of = '', value, doc }) => [...(hasOwners ? [of] : []), value, doc])
  const [head = '', ...lines] = tableLines(hasOwners ? ['OF', 'SETTING', ''] : ['VALUE', ''], rows)
  return [onOut('bold', head), ...lines]
}

const showExplanation = (explanation: Explanation): void => {
  const {
    path,
    type,
    doc,
    required,
    default: value,
    limits,
    marks,
    referencedBy,
    fields,
    choices,
  } = explanation
  const facts = [
    ...fact('default', shown(value)),
    ...list('limits', limits),
    ...list('note', marks),
    ...kindFacts(explanation),
    ...list('named in', referencedBy),
  ]
  const heading = [
    `${onOut('bold', path)}  ${type}${required ? ', must be given' : ''}`,
    ...(doc === '' ? [] : [`  ${harmless(doc)}`]),
  ]
  const parts = [heading, facts, fieldLines(fields), choiceLines(choices)].filter(
    (lines) => lines.length > 0,
  )
  printOut(parts.map((lines) => lines.join('\n')).join('\n\n'))
}

export type Explained = { readonly kinds: KindList } | { readonly explanation: Explanation }

export const showExplained = (found: Explained): void =>
  'kinds' in found
    ? printTable(
        ['kind', 'in files', 'what it is'],
        found.kinds.map(({ kind, section, doc }) => [kind, section, doc]),
      )
    : showExplanation(found.explanation)
