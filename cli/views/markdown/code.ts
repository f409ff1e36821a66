/** Text of files and servers as Markdown code: it can neither end its block nor mention users. */

import { harmless } from '../human/elements/text.ts'

/** Text inside of `<code>`, on one line; what could be markup, or a mention, is written by its number. */
export const code = (text: string): string =>
  `<code>${harmless(text).replaceAll(
    /[^\p{L}\p{N} :./-]/gu,
    (character) => `&#${character.codePointAt(0)};`,
  )}</code>`

/** A fence that nothing inside can close. */
const fenceFor = (lines: readonly string[]): string => {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? [])
  return '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)))
}

export const fenced = (lines: readonly string[], language = ''): string[] => {
  const fence = fenceFor(lines)
  return [`${fence}${language}`, ...lines, fence]
}
