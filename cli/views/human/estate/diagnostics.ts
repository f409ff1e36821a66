/** Diagnostics for the terminal: position, code and message, the lines of the file, and the hint. */

import type { styleText } from 'node:util'
import {
  counted,
  type Diagnostic,
  type DiagnosticsSource,
  diagnosticsSummary,
  type Place,
} from '../../../diagnostics.ts'
import { createFrames, type Frames } from '../../../validate/code-frame.ts'
import { printErr, printOut } from '../../streams.ts'
import { harmless, onErr, onOut } from '../elements/text.ts'

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string

/** So many are shown with their lines; the rest, of a file that is wrong all over, in one line each. */
const mostFrames = 100

const placeText = ({ file, line, column }: Place): string => `${file}:${line}:${column}`

const linesOf = (diagnostic: Diagnostic, frames: Frames | null, paint: Paint): string[] => {
  const { severity, code, message, place, hint, related = [] } = diagnostic
  const colour = severity === 'error' ? 'red' : 'yellow'
  const where = place === undefined ? '' : `${paint('bold', harmless(placeText(place)))}: `
  const label = paint(colour, `${severity} ${harmless(code)}`)
  const frame = place === undefined || frames === null ? [] : frames(place)
  return [
    `${where}${label}: ${harmless(message)}`,
    ...frame.map((line) => (/^ *\| *\^+$/.test(line) ? paint(colour, line) : paint('dim', line))),
    ...related.map((one) => `  ${harmless(one.message)}: ${harmless(placeText(one.place))}`),
    ...(hint === undefined ? [] : [`  ${paint('cyan', 'hint:')} ${harmless(hint)}`]),
  ]
}

export const diagnosticsText = (
  { diagnostics, textOf }: DiagnosticsSource,
  paint: Paint = (_, text) => text,
): string => {
  const frames = createFrames(textOf)
  const blocks = diagnostics.map((diagnostic, i) =>
    linesOf(diagnostic, i < mostFrames ? frames : null, paint).join('\n'),
  )
  // Blocks with frames are set apart; a list of lines stays a list.
  const framed = blocks.slice(0, mostFrames).map((block) => `${block}\n`)
  return [...framed, ...blocks.slice(mostFrames)].join('\n')
}

/** On stdout where it is the result of the command; on stderr where it is why there is none. */
export const showDiagnostics = (source: DiagnosticsSource, on: 'stdout' | 'stderr'): void => {
  if (source.diagnostics.length === 0) return
  const paint = on === 'stdout' ? onOut : onErr
  const text = `${diagnosticsText(source, paint)}\n${paint('bold', diagnosticsSummary(source.diagnostics))}`
  if (on === 'stdout') printOut(text)
  else printErr(text)
}

export const showValid = (realms: readonly string[], files: number): void => {
  const names = realms.map(harmless).join(', ')
  printOut(
    `${onOut('green', 'Valid:')} ${names === '' ? 'no realm' : names} (${counted(files, 'file')})`,
  )
}
