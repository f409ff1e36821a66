/**
 * Usernames and email addresses: one spelling for what a person would call the same name (NFKC and case folding),
 * and the rules they obey. Rules look at the normalised spelling only: U+FF20 is no "@" before normalisation and
 * one after it, which is how an address that was checked too early ends up at another domain.
 */

import type { FieldError } from '../problems.ts'
import { formats } from './formats.ts'

export interface Name {
  /** As it is shown and stored. */
  readonly value: string
  /** As it is compared. */
  readonly key: string
}

const MAX_USERNAME = 255
const MAX_EMAIL = 320

/** Invisible characters: with them two different names would look the same. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cn}\p{Co}\p{Cs}]/u

/** The form that HTML accepts in an address field; no quoted local part, no address literal. */
const address =
  /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Most names: nothing about them needs to be normalised. */
const isPlain = (text: string): boolean => /^[!-~]*$/.test(text)

/** Lower case can undo a composition, so the form is taken again: folding twice changes nothing. */
export const foldName = (text: string): string =>
  isPlain(text) ? text.toLowerCase() : text.normalize('NFKC').trim().toLowerCase().normalize('NFKC')

export const nameOf = (text: string): Name => ({
  value: isPlain(text) ? text : text.normalize('NFKC').trim(),
  key: foldName(text),
})

/** What is wrong with a username; nothing when it may be used. */
export const usernameErrors = (text: string): FieldError[] => {
  const { value } = nameOf(text)
  const wrong = (code: string, message: string): FieldError[] => [
    { field: '/username', code, message },
  ]
  if (value === '') return wrong('minLength', 'must not be empty')
  if (value.length > MAX_USERNAME)
    return wrong('maxLength', `has more than ${MAX_USERNAME} characters`)
  if (formats['username']?.test(value) !== true || (!isPlain(value) && invisible.test(value)))
    return wrong('format', formats['username']?.message ?? 'is not a username')
  return []
}

/** What is wrong with an email address; nothing when it may be used. */
export const emailErrors = (text: string): FieldError[] => {
  const { value } = nameOf(text)
  if (value.length <= MAX_EMAIL && address.test(value)) return []
  return [{ field: '/email', code: 'format', message: 'must be an email address' }]
}
