/** The number of a revision, as an argument or the value of a flag. */

import { InvalidArgumentError } from 'commander'
import type { Operand } from '../../../invocation/operand.ts'

export const revision = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('A revision is a whole number; see `iamctl history`.')
  return value
}

export const revisionArgument = (form: string, help: string): Operand<number> => ({
  form,
  help,
  parse: revision,
})
