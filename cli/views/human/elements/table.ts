/**
 * Rows under headings, aligned. On a terminal a line never breaks: what does not fit is cut, the widest column first,
 * and the last columns are left out where even that is not enough. In a pipe nothing is cut.
 */

import { stripVTControlCharacters } from 'node:util'
import { printOut, terminalWidth } from '../../streams.ts'
import { harmless, onOut } from './text.ts'

const gap = 2
const narrowest = 8

let segmenter: Intl.Segmenter | undefined

/** Made for the first text that is not plain: loading the rules takes 10 ms. */
const graphemesOf = (text: string): Intl.Segments => {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

/** East Asian characters and pictures take two places (Unicode TR11, roughly). */
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6])/u

const placesOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1)

export const widthOf = (text: string): number => {
  // Most text is plain, and counting it is then its length.
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(stripVTControlCharacters(text))) width += placesOf(segment)
  return width
}

const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemesOf(text)) {
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
    const others = widths.filter((width) => width < widest)
    // Those that are equally wide share what must go, down to the next one.
    const share = Math.ceil(excess / (widths.length - others.length))
    widths[widths.indexOf(widest)] = Math.max(narrowest, widest - share, ...others)
  }
  return widths
}

/** How many columns there is room for when each is as narrow as it may be. */
const shownColumns = (natural: readonly number[], room: number | null): number => {
  if (room === null) return natural.length
  let used = -gap
  const tooMany = natural.findIndex((width) => {
    used += gap + Math.min(width, narrowest)
    return used > room
  })
  return tooMany === -1 ? natural.length : Math.max(1, tooMany)
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
    cells.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
  )
  const widths = fitted(natural.slice(0, shownColumns(natural, width)), width ?? undefined)
  return cells.map((row) =>
    row
      .slice(0, widths.length)
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
