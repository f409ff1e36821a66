/** Goes on only with --yes, or with the yes of a person. */

import { CommandError, exitCodes } from '../exit.ts'
import { confirm } from '../views/human/elements/prompt.ts'
import { toggle } from './flags.ts'

export const yesFlag = { yes: toggle('do not ask') }

export const agreed = async (
  { flags }: { readonly flags: { readonly yes: boolean } },
  question: string,
): Promise<void> => {
  if (flags.yes || (await confirm(question))) return
  throw new CommandError(exitCodes.error, 'nothing was changed', {
    hint: 'not confirmed; answer y, or give --yes',
  })
}
