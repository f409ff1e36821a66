/** Text that no database of ours keeps as it is: NUL, which PostgreSQL refuses, and half a surrogate pair (RFC 8259 §8.2). */

/** The beginning of a text, without half of the character that it is cut in. */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '')

/** The end of a text, likewise. */
export const endOf = (text: string, length: number): string =>
  text.slice(-length).replace(/^[\udc00-\udfff]/, '')

/** What the text is; undefined where it can be stored. */
export const unstorable = (text: string): string | undefined => {
  if (text.includes('\0')) return 'text with a NUL character'
  return text.isWellFormed() ? undefined : 'text with half a surrogate pair'
}
