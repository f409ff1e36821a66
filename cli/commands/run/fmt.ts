/** Formats realm files, or checks whether they are. */

import { hasErrors } from '../../diagnostics.ts'
import { exitCodes } from '../../exit.ts'
import { formatFiles } from '../../fmt/run.ts'
import { findEstate } from '../../load/estate.ts'
import { showFormatted } from '../../views/human/fmt.ts'
import { printFormatted } from '../../views/json/fmt.ts'
import { type Invocation, textOf } from '../invocation.ts'

export const fmt = async (
  invocation: Invocation,
  paths: readonly string[],
  cwd = process.cwd(),
): Promise<void> => {
  const { flags, quiet, output } = invocation
  const check = flags['check'] === true
  const found = await findEstate({ cwd, config: textOf(invocation, 'config', 'IAMCTL_CONFIG') })
  const outcome = await formatFiles({ paths, cwd, found, check, stdin: process.stdin })
  if (output === 'json') printFormatted(outcome, check)
  else showFormatted(outcome, { check, quiet })
  if (hasErrors(outcome.diagnostics)) process.exitCode = exitCodes.invalid
  else if (check && outcome.changed.length > 0) process.exitCode = exitCodes.error
}
