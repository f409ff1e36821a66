/** Sentences about what a command did: on stderr, so that stdout holds results alone; nothing with --quiet. */

import { printErr } from '../../streams.ts'
import { harmlessLines } from './text.ts'

export const note = ({ quiet }: { readonly quiet: boolean }, text: string): void => {
  if (!quiet) printErr(harmlessLines(text))
}
