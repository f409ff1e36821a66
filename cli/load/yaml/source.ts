/** The text of one file, and the way from an offset in it to a line and a column. */

import type { Place } from '../../diagnostics.ts'

export interface Source {
  /** As it is shown: relative to where the person is. */
  readonly file: string
  /** Where it lies, absolute; null of standard input. */
  readonly path: string | null
  readonly text: string
  /** Offsets are counted as JavaScript counts: in UTF-16 units, the end exclusive. */
  placeAt(start: number, end?: number): Place
}

const lineStartsOf = (text: string): Uint32Array => {
  const starts = [0]
  for (const { index, 0: lineBreak } of text.matchAll(/\r\n?|\n/g))
    starts.push(index + lineBreak.length)
  return Uint32Array.from(starts)
}

/** The last line that starts at or before the offset, counted from 0. */
const lineAt = (starts: Uint32Array, offset: number): number => {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

export const createSource = (file: string, text: string, path: string | null = null): Source => {
  // Line starts are computed on demand: most files never need them.
  let starts: Uint32Array | undefined
  return {
    file,
    path,
    text,
    placeAt(start, end = start) {
      starts ??= lineStartsOf(text)
      const line = lineAt(starts, start)
      const lineStart = starts[line] ?? 0
      const place = { file, line: line + 1, column: start - lineStart + 1 }
      const endsHere = end > start && lineAt(starts, end - 1) === line
      return endsHere ? { ...place, endColumn: end - lineStart + 1 } : place
    },
  }
}
