/** Names and values below each other, aligned; what has no value is left out. */

import { printOut } from '../../streams.ts'
import { harmless, onOut } from './text.ts'

export const printFields = (fields: readonly (readonly [name: string, value: string])[]): void => {
  const shown = fields.filter(([, value]) => value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  printOut(
    shown
      .map(([name, value]) => `${onOut('bold', harmless(name).padEnd(width))}  ${harmless(value)}`)
      .join('\n'),
  )
}
