/** Text for a terminal: styled where it is ours, harmless where it came from elsewhere. */

import { styleText } from 'node:util'

export { harmless, harmlessLines } from '../../../control-characters.ts'

type Style = Parameters<typeof styleText>[0]

/** Styled where the stream is a terminal that shows it, and NO_COLOR is not set. */
export const onOut = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout })

export const onErr = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stderr })
