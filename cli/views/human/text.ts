/**
 * Text that came from elsewhere, made harmless for a terminal: control characters, which could move the cursor, change
 * colours or hide what stands before them, are shown by their numbers; so are marks that turn the direction of writing.
 */

import { styleText } from 'node:util'

const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** As JSON would write it, which is how people know them. */
export const escaped = (character: string): string =>
  character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** On one line. */
export const harmless = (text: string): string => text.replaceAll(hidden, escaped)

/** Line breaks stay. */
export const harmlessLines = (text: string): string =>
  text.replaceAll(hidden, (character) => (character === '\n' ? '\n' : escaped(character)))

type Style = Parameters<typeof styleText>[0]

/** Styled where the stream is a terminal that shows it, and NO_COLOR is not set. */
export const onOut = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout })

export const onErr = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stderr })
