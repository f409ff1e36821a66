/** An error as a person reads it: what happened, what to do about it, and the whole story only of a bug. */

import type { Diagnostic } from '../../diagnostics.ts'
import type { Failure } from '../../failure.ts'
import { printErr } from '../streams.ts'
import { harmless, harmlessLines, onErr } from './elements/text.ts'
import { movedLines } from './moved.ts'

const placeOf = ({ place }: Diagnostic): string =>
  place === undefined ? '' : `${place.file}:${place.line}:${place.column}: `

const lineOf = (diagnostic: Diagnostic): string => {
  const { severity, code, message, hint } = diagnostic
  const line = `${placeOf(diagnostic)}${severity} ${code}: ${message}`
  return hint === undefined ? line : `${line} (${hint})`
}

/** The causes of a cause too: `--debug` is for finding out. */
const storyOf = (error: unknown): string[] => {
  const stories: string[] = []
  for (let one = error; one instanceof Error && stories.length < 5; one = one.cause)
    stories.push(one.stack ?? one.message)
  return stories
}

export const showFailure = (failure: Failure, error: unknown, debug: boolean): void => {
  const { message, hint, errors, details, diagnostics, requestId, isBug } = failure
  const fields = errors.map(({ field, message: text }) => `  ${harmless(`${field}: ${text}`)}`)
  // A refusal of fields is their list: the sentence of the server is the same once more.
  const sentence = fields.length > 0 && failure.code === 'validation' ? 'it is not valid' : message
  printErr(
    [
      `${onErr('red', 'iamctl:')} ${harmlessLines(sentence)}`,
      ...fields,
      ...diagnostics.map((diagnostic) => `  ${harmless(lineOf(diagnostic))}`),
      ...movedLines(details).map((line) => `  ${line}`),
      ...(hint === null ? [] : [`  ${harmlessLines(hint)}`]),
      ...(requestId !== null && (debug || failure.status === 500)
        ? [`  the server's log has more under request ${harmless(requestId)}`]
        : []),
      ...(debug || isBug ? storyOf(error).map(harmlessLines) : []),
    ].join('\n'),
  )
}
