/** Candidates for the completion scripts (templates/completion): one a line, and a last line that says what goes along. */

import type { Completion } from '../../../completion/candidates.ts'
import { printOut } from '../../streams.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would obey them
const controls = /[\u0000-\u001f\u007f-\u009f]/

/** What a shell would have to be told how to quote is left out; a description is one line. */
export const printCompletion = ({ candidates, rest, isWhole }: Completion): void => {
  const lines = candidates
    .filter(({ value }) => !controls.test(value))
    .map(({ value, doc }) => (doc ? `${value}\t${doc.replaceAll(/\s+/g, ' ')}` : value))
  printOut([...lines, `:${rest}${isWhole ? '' : ' nospace'}`].join('\n'))
}
