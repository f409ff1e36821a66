/** `--limit` of commands that list: a number of things, or all of them. */

import { InvalidArgumentError } from 'commander'

export const limit = (text: string): number => {
  if (text === 'all') return Number.POSITIVE_INFINITY
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('A number, or "all".')
  return value
}
