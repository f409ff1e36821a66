/** Names of people and other text from outside. What a name is, server and CLI share. */

import { emailErrors, foldName } from '#schemas/text/names.ts'

export { emailErrors, foldName, nameOf, usernameErrors } from '#schemas/text/names.ts'

/** Text from a request as it may be stored and printed: whole characters, none that steers a terminal, not endless. */
export const printable = (text: string, length: number): string =>
  text
    .toWellFormed()
    .replace(/\p{Cc}/gu, '\u{fffd}')
    .slice(0, length)
    .toWellFormed()

/**
 * Whether a name that a person chooses is an address other than the person's. Its owner could not register any more, and
 * applications that know users by `preferred_username` would take the person for the owner. Not a question where `email` is none.
 */
export const isOtherAddress = (username: string, email: string): boolean =>
  emailErrors(username).length === 0 &&
  emailErrors(email).length === 0 &&
  foldName(username) !== foldName(email)
