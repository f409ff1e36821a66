/** `--limit` of commands that list: a number of things, or all of them. */

import { InvalidArgumentError } from 'commander'

export const limit = (text: string): number => {
  if (text === 'all') return Number.POSITIVE_INFINITY
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It is a whole number above 0, or "all".')
  return value
}
