/**
 * Rows under headings, aligned. On a terminal a line never breaks: what does not fit is cut, the widest column first.
 * In a pipe nothing is cut.
 */

import { stripVTControlCharacters } from 'node:util'
import { printOut, terminalWidth } from '../streams.ts'
import { harmless, onOut } from './text.ts'

const gap = 2
const narrowest = 8

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** East Asian characters and pictures take two places (Unicode TR11, roughly). */
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6])/u

const placesOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1)

export const widthOf = (text: string): number => {
  // Most text is plain, and counting it is then its length.
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(stripVTControlCharacters(text)))
    width += placesOf(segment)
  return width
}

const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += placesOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** The widths that the columns get within the room there is. */
const fitted = (natural: readonly number[], room: number | undefined): number[] => {
  const widths = [...natural]
  if (room === undefined) return widths
  const total = (): number => widths.reduce((sum, width) => sum + width + gap, -gap)
  for (let excess = total() - room; excess > 0; excess = total() - room) {
    const widest = Math.max(...widths)
    if (widest <= narrowest) return widths
    const index = widths.indexOf(widest)
    const next = Math.max(narrowest, ...widths.filter((width) => width < widest))
    widths[index] = Math.max(narrowest, Math.max(widest - excess, Math.min(next, widest - 1)))
  }
  return widths
}

export interface TableOptions {
  /** Undefined: as wide as the terminal; null: as wide as it takes. */
  readonly width?: number | null
}

/** The lines of a table; cells are made harmless here. */
export const tableLines = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { width = terminalWidth() ?? null }: TableOptions = {},
): string[] => {
  const cells = [headings, ...rows].map((row) => row.map(harmless))
  const natural = headings.map((_, column) =>
    Math.max(...cells.map((row) => widthOf(row[column] ?? ''))),
  )
  const widths = fitted(natural, width ?? undefined)
  return cells.map((row) =>
    row
      .map((cell, column) => {
        const room = widths[column] ?? 0
        const text = cut(cell, room)
        return text + ' '.repeat(Math.max(0, room - widthOf(text)))
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

export const printTable = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): void => {
  const [head = '', ...lines] = tableLines(
    headings.map((heading) => heading.toUpperCase()),
    rows,
  )
  printOut([onOut('bold', head), ...lines].join('\n'))
}
