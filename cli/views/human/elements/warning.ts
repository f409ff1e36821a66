/** Warnings before an approval: on stderr, also with --quiet. */

import { printErr } from '../../streams.ts'
import { harmless, onErr } from './text.ts'

export const showWarning = (text: string): void =>
  printErr(`${onErr('yellow', 'Warning:')} ${harmless(text)}`)
