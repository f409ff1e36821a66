/** The lines around a place, with a mark under the place. */

import { harmless } from '../control-characters.ts'
import type { Place } from '../diagnostics.ts'
import { maskSecrets } from './mask.ts'

export type Frames = (place: Place) => readonly string[]

/** Lines of context before and after the marked line. */
const around = 2

/** Longer lines are shown in part: a file may hold a certificate on one line. */
const widest = 100
const before = 40

const shown = (text: string): string => harmless(text.replaceAll('\t', '  '))

/** As wide as the text, and empty; characters that take two columns are matched by a space that does. */
const blank = (text: string): string =>
  text
    .replaceAll(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/gu, '\u3000')
    .replaceAll(/[^\u3000]/gu, ' ')

const window = (line: string, from: number): string => {
  const part = line.slice(from, from + widest)
  return `${from > 0 ? '…' : ''}${shown(part)}${from + widest < line.length ? '…' : ''}`
}

const codeFrame = (
  lines: readonly string[],
  { line, column, endColumn = column + 1 }: Place,
): string[] => {
  const first = Math.max(1, line - around)
  const last = Math.min(lines.length, line + around)
  if (line > lines.length) return []
  const meant = lines[line - 1] ?? ''
  const from = meant.length > widest ? Math.max(0, column - 1 - before) : 0
  const digits = String(last).length
  const gutter = (number: number | null): string =>
    `${number === line ? '>' : ' '} ${String(number ?? '').padStart(digits)} |`
  const frame: string[] = []
  for (let number = first; number <= last; number += 1) {
    frame.push(`${gutter(number)} ${window(lines[number - 1] ?? '', from)}`.trimEnd())
    if (number !== line) continue
    const start = blank(`${from > 0 ? '…' : ''}${shown(meant.slice(from, column - 1))}`)
    const width = shown(meant.slice(column - 1, Math.min(endColumn - 1, from + widest))).length
    frame.push(`${gutter(null)} ${start}${'^'.repeat(Math.max(1, width))}`)
  }
  return frame
}

/** Code frames of files, each parsed once; secrets in them are masked. */
export const createFrames = (textOf: (file: string) => string | undefined): Frames => {
  const files = new Map<string, readonly string[]>()
  return (place) => {
    const known = files.get(place.file)
    if (known) return codeFrame(known, place)
    const lines = maskSecrets(textOf(place.file) ?? '').split(/\r\n?|\n/)
    // What follows the last line break is no line.
    if (lines.at(-1) === '') lines.pop()
    files.set(place.file, lines)
    return codeFrame(lines, place)
  }
}
