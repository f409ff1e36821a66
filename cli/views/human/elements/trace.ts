/** The output of --debug while a command runs. */

import { printErr } from '../../streams.ts'
import { harmless, onErr } from './text.ts'

export const traceLine = (line: string): void => printErr(onErr('dim', `debug: ${harmless(line)}`))
