/**
 * Placeholders in the texts of messages: which there are, which of a text are none, and what a text becomes. A value
 * is put in once and never read as a template itself, whatever it holds.
 */

import type { FieldError } from '../problems.ts'

/** The placeholders of message templates. */
const placeholderNames = [
  'realm',
  'code',
  'ttl',
  'duration',
  'user',
  'link',
  'organization',
  'device',
  'address',
  'time',
  'application',
] as const

const known: ReadonlySet<string> = new Set(placeholderNames)
const marked = /\{\{([^{}]*)\}\}/g
const longestShown = 40

/** A name of the list, or an attribute of the user: `user.department`. */
export const isPlaceholder = (name: string): boolean =>
  known.has(name) || /^user\.[\w.:-]{1,255}$/.test(name)

/** Replaces every placeholder by its value; a placeholder without a value stays. */
export const fillPlaceholders = (
  text: string,
  meaning: (name: string) => string | undefined,
): string => text.replace(marked, (whole, name: string) => meaning(name.trim()) ?? whole)

/** Errors for placeholders that never get a value. */
export const placeholderErrors = (
  field: string,
  text: string,
  isKnown: (name: string) => boolean = isPlaceholder,
  all = `${placeholderNames.join(', ')} and user.<attribute>`,
): FieldError[] => {
  const names = new Set([...text.matchAll(marked)].map(([, name = '']) => name.trim()))
  const errors = [...names]
    .filter((name) => !isKnown(name))
    .map((name) => ({
      field,
      code: 'unknown-placeholder',
      message: `there is no placeholder {{${name.slice(0, longestShown)}}}; there are ${all}`,
    }))
  if (text.includes('{{{') || text.replace(marked, '').includes('{{'))
    errors.push({
      field,
      code: 'unknown-placeholder',
      message: 'has a "{{" that is not the beginning of a {{placeholder}}',
    })
  return errors
}
