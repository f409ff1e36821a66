/** An audit event on a line of its own, as it happens: columns that need no table around them. */

import type { FieldChange } from '#schemas/diff.ts'
import type { EventRecord } from '#schemas/wire/events.ts'
import { printOut } from '../../streams.ts'
import { harmless, onOut } from '../elements/text.ts'

/** Longest description of a change in a line; `iamctl history` has the rest. */
const mostFields = 5
const longestValue = 60

const shown = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

const fieldText = (change: FieldChange): string => {
  const name = change.pointer.slice(1)
  if (change.change === 'set') return `${name}: ${shown(change.before)} -> ${shown(change.after)}`
  return `${name}: ${change.change === 'add' ? '+' : '-'}${shown(change.value)}`
}

/** Before and after of a change, as far as the server tells. */
export const changesText = ({ changes, revision }: EventRecord): string => {
  if (!changes) return ''
  const { fields, secrets } = changes
  const rest = fields.length - mostFields
  return [
    ...fields.slice(0, mostFields).map(fieldText),
    ...(rest > 0 ? [`${rest} more: iamctl history show ${revision}`] : []),
    ...secrets.map((pointer) => `${pointer.slice(1)} (secret) changed`),
  ].join(', ')
}

const widths = [20, 22, 7, 16, 15] as const

/** The cells of a table's row. */
export const printEvent = (cells: readonly string[], { outcome, category }: EventRecord): void => {
  const text = cells
    .map((cell, i) => harmless(cell).padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd()
  const isBad = outcome !== 'SUCCESS'
  printOut(isBad ? onOut('red', text) : category === 'SECURITY' ? onOut('yellow', text) : text)
}
