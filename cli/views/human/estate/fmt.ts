/** The result of the formatter: names of files on stdout, the rest on stderr. */

import type { FmtOutcome } from '../../../fmt/run.ts'
import { printErr, printFile, printOut } from '../../streams.ts'
import { harmless, onErr } from '../elements/text.ts'
import { showDiagnostics } from './diagnostics.ts'

const count = (number: number, word: string): string =>
  `${number} ${word}${number === 1 ? '' : 's'}`

const summary = ({ changed, unchanged }: FmtOutcome, check: boolean): string => {
  const done = check ? 'would be formatted' : 'formatted'
  const parts = [
    ...(changed.length > 0 ? [`${count(changed.length, 'file')} ${done}`] : []),
    ...(unchanged.length > 0 ? [`${count(unchanged.length, 'file')} unchanged`] : []),
  ]
  return parts.length === 0 ? 'no files' : parts.join(', ')
}

export const showFormatted = (
  outcome: FmtOutcome,
  { check, quiet }: { readonly check: boolean; readonly quiet: boolean },
): void => {
  const { changed, left, text } = outcome
  showDiagnostics(outcome, 'stderr')
  for (const { file, reason } of left)
    printErr(`${onErr('yellow', 'left as it is:')} ${harmless(file)}: ${harmless(reason)}`)
  // The text itself is the result, and a summary would only be in the way.
  if (text !== null) {
    printFile(text)
    return
  }
  for (const file of changed) printOut(harmless(file))
  // What is wrong is summed up already.
  if (!quiet && outcome.diagnostics.length === 0) printErr(summary(outcome, check))
}
