/** Asks before a change. Only on a terminal: a pipeline gives --auto-approve or is refused. */

import { CommandError, exitCodes } from '../../../exit.ts'
import { isInteractive, printErr } from '../../streams.ts'
import { askText } from '../elements/prompt.ts'

/** What must be typed: `yes`, or the names of the realms in which something is destroyed. */
export const approve = async (
  question: string,
  destroysIn: readonly string[] = [],
): Promise<void> => {
  if (!isInteractive())
    throw new CommandError(
      exitCodes.error,
      'approval is required, and standard input is not a terminal',
      {
        hint: 'review the plan, then give --auto-approve',
      },
    )
  const declined = new CommandError(exitCodes.error, 'nothing was changed', {
    hint: 'not approved',
  })
  if (destroysIn.length === 0) {
    printErr(`\n${question}\n  Only 'yes' will be accepted to approve.\n`)
    if ((await askText('  Enter a value: ')) !== 'yes') throw declined
    return
  }
  printErr(`\n${question}\n  Documents will be destroyed: type the name of the realm to approve.\n`)
  for (const realm of destroysIn)
    if ((await askText(`  Destroy in realm ${realm}? Its name: `)) !== realm) throw declined
}
