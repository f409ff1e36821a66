/**
 * Characters that a terminal, a log or an editor obeys instead of showing: controls (C0, DEL, C1), line separators, and marks
 * that turn the direction of writing (CVE-2021-42574). Text of servers and files is shown with their numbers in place of them.
 */

// Control characters that JSON allows unescaped in a string.
const beyondJson = '\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff'
const all = new RegExp(`[\\u0000-\\u001f${beyondJson}]`, 'g')
const inQuotes = new RegExp(`[${beyondJson}]`, 'g')
const besidesLayout = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${beyondJson}]`)
/** A colour, which views write themselves, or a character that none of them writes. */
const onTerminal = new RegExp(
  `\\u001b\\[[\\d;]*m|[\\u0000-\\u0008\\u000b-\\u001f${beyondJson}]`,
  'g',
)

/** As JSON would write it, which is how people know them. */
const escaped = (character: string): string =>
  character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** On one line. */
export const harmless = (text: string): string => text.replaceAll(all, escaped)

/** Line breaks stay. */
export const harmlessLines = (text: string): string =>
  text.replaceAll(all, (character) => (character === '\n' ? '\n' : escaped(character)))

/** Of JSON or double-quoted YAML: the same value, with nothing in it that a terminal obeys. */
export const escapedInQuotes = (text: string): string => text.replaceAll(inQuotes, escaped)

/** Whether the text contains any, except line breaks and tabs. */
export const hasControls = (text: string): boolean => besidesLayout.test(text)

/** The last guard before a terminal: colours pass, whatever else a view has forgotten is escaped. */
export const guarded = (text: string): string =>
  text.replaceAll(onTerminal, (found) => (found.length > 1 ? found : escaped(found)))
