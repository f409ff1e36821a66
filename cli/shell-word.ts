/** A name as one word of a command that is shown to be copied: a space ends no word, and nothing in it is run by a shell. */

export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
