/** Why there is no plan, as a comment on a pull request: an empty comment would say nothing, or that nothing changes. */

import type { Diagnostic } from '../../diagnostics.ts'
import type { Failure } from '../../failure.ts'
import { harmless } from '../human/elements/text.ts'
import { counted } from '../plan/lines.ts'
import { fenced } from './code.ts'

/** A comment has a limit of 65,536 characters. */
const mostCharacters = 50_000

const diagnosticLine = ({ place, severity, code, message, hint }: Diagnostic): string =>
  harmless(
    (place === undefined ? '' : `${place.file}:${place.line}:${place.column}: `) +
      `${severity} ${code}: ${message}${hint === undefined ? '' : ` (${hint})`}`,
  )

/** As many as fit, and how many others there are. */
const fitted = (lines: readonly string[]): string[] => {
  let used = 0
  const count = lines.findIndex((line) => {
    used += line.length + 1
    return used > mostCharacters
  })
  if (count < 0) return [...lines]
  const left = counted(lines.length - count, 'line')
  return [...lines.slice(0, count), `… ${left} left out: the log of the job has all`]
}

export const failureMarkdown = (command: string, failure: Failure): string => {
  const { message, hint, errors, diagnostics, exitCode } = failure
  const lines = [
    ...message.split('\n').map(harmless),
    ...errors.map(({ field, message: text }) => harmless(`${field}: ${text}`)),
    ...diagnostics.map(diagnosticLine),
    ...(hint === null ? [] : ['', ...`hint: ${hint}`.split('\n').map(harmless)]),
  ]
  return [
    `### iamctl ${command}: failed`,
    '',
    `There is no plan, and nothing was changed (exit code ${exitCode}):`,
    '',
    ...fenced(fitted(lines)),
    '',
  ].join('\n')
}
