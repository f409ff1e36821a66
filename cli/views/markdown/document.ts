/** With --output markdown there is always a document: a command that fails before it could show a plan says why there. */

import { failureOf } from '../../failure.ts'
import { printOut } from '../streams.ts'
import { failureMarkdown } from './failure.ts'

/** `work` says by `told` that the document holds what is wrong already. */
export const withDocument = async (
  { output }: { readonly output: string },
  command: string,
  work: (told: () => void) => Promise<void>,
): Promise<void> => {
  let isTold = false
  try {
    await work(() => {
      isTold = true
    })
  } catch (error) {
    if (output === 'markdown' && !isTold) printOut(failureMarkdown(command, failureOf(error)))
    throw error
  }
}
