/** The output of a command that a signal ends: on stderr, with the cursor restored. */

import { writeSync } from 'node:fs'
import { harmless, onErr } from './elements/text.ts'

const showCursor = '\u001b[?25h'

/** Written to the descriptor itself: a spinner holds back what is written to the stream, and the process may end behind it. */
export const showLeaving = (lines: readonly string[]): void => {
  const cursor = process.stderr.isTTY ? `${showCursor}\n` : ''
  const text = lines.map((line) => `${onErr('red', 'interrupted:')} ${harmless(line)}\n`).join('')
  try {
    writeSync(process.stderr.fd, `${cursor}${text}`)
  } catch {
    // The reader has closed the stream.
  }
}
