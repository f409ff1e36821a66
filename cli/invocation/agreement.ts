/** Goes on only with --auto-approve, or with the yes of a person. */

import { CommandError, exitCodes } from '../exit.ts'
import { confirm } from '../views/human/elements/prompt.ts'
import type { ApprovalValues } from './shared-flags.ts'

export const agreed = async (
  { flags }: { readonly flags: ApprovalValues },
  question: string,
): Promise<void> => {
  if (flags.autoApprove || (await confirm(question))) return
  throw new CommandError(exitCodes.error, 'nothing was changed', {
    hint: 'not confirmed; answer y, or give --auto-approve',
  })
}
