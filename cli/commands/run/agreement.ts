/** Goes on only with --yes, or with the yes of a person. */

import { CommandError, exitCodes } from '../../exit.ts'
import { confirm } from '../../views/human/elements/prompt.ts'
import type { Invocation } from '../invocation.ts'

export const agreed = async ({ flags }: Invocation, question: string): Promise<void> => {
  if (flags['yes'] === true || (await confirm(question))) return
  throw new CommandError(exitCodes.error, 'nothing was changed', {
    hint: 'not confirmed; answer y, or give --yes',
  })
}
