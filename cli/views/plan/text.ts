/** Values as they are printed in a plan: like JSON, harmless for a terminal, and not longer than a person reads. */

import { harmless } from '../human/elements/text.ts'

/** Longer text is shortened. */
const longest = 100
/** How much of a long text is shown before the place where it begins to differ. */
const lead = 20

export const quoted = (text: string): string => harmless(JSON.stringify(text))

/** A name as it stands before `=`; in quotes where it is not a plain word. */
export const fieldName = (name: string): string =>
  /^[A-Za-z_][\w.-]*$/.test(name) ? name : quoted(name)

const excerpt = (text: string, from: number): string => {
  if (text.length <= longest) return quoted(text)
  const start = Math.max(0, Math.min(from - lead, text.length - longest))
  const shown = text.slice(start, start + longest)
  const before = start > 0 ? '…' : ''
  const after = start + longest < text.length ? '…' : ''
  return `${before}${quoted(shown)}${after} (${text.length} characters)`
}

/** A value on one line. */
export const scalar = (value: unknown): string =>
  typeof value === 'string' ? excerpt(value, 0) : harmless(JSON.stringify(value) ?? 'null')

const firstDifference = (a: string, b: string): number => {
  let i = 0
  while (i < a.length && a[i] === b[i]) i += 1
  return i
}

/** From one value to another; of long texts the part where they differ. */
export const transition = (before: unknown, after: unknown): string => {
  if (typeof before !== 'string' || typeof after !== 'string')
    return `${scalar(before)} -> ${scalar(after)}`
  const from = firstDifference(before, after)
  return `${excerpt(before, from)} -> ${excerpt(after, from)}`
}
