/** Names of people and other text from outside. What a name is, server and CLI share. */

export { emailErrors, foldName, nameOf, usernameErrors } from '#schemas/text/names.ts'

/** Text from a request as it may be stored and printed: whole characters, none that steers a terminal, not endless. */
export const printable = (text: string, length: number): string =>
  text
    .toWellFormed()
    .replace(/\p{Cc}/gu, '\u{fffd}')
    .slice(0, length)
    .toWellFormed()
