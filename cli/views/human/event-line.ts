/** An audit event on a line of its own, as it happens: columns that need no table around them. */

import type { EventRecord } from '../../client/records.ts'
import { printOut } from '../streams.ts'
import { harmless, onOut } from './text.ts'

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
