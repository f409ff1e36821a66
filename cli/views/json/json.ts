/** Values as JSON for programs. What a terminal could take for a command is escaped, which changes no value. */

import type { Failure } from '../../failure.ts'
import { escaped } from '../human/text.ts'
import { printErr, printOut } from '../streams.ts'

// Those that JSON itself lets stand.
const unescaped = /[\u007f-\u009f]/g

const textOf = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(unescaped, escaped)

/** One value, for people's eyes as well. */
export const printJson = (value: unknown): void => printOut(textOf(value, 2))

/** One line each (NDJSON). */
export const printJsonLine = (value: unknown): void => printOut(textOf(value))

/** One object on stderr: what is on stdout is either the result or nothing. */
export const printFailure = ({ isBug: _, ...failure }: Failure): void =>
  printErr(textOf({ error: failure }))
