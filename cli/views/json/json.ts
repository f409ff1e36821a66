/** Values as JSON for programs. What a terminal could take for a command is escaped, which changes no value. */

import { escapedInQuotes } from '../../control-characters.ts'
import type { Failure } from '../../failure.ts'
import { printErr, printOut } from '../streams.ts'

export const jsonText = (value: unknown, indent?: number): string =>
  escapedInQuotes(JSON.stringify(value, null, indent))

/** One value, for people's eyes as well. */
export const printJson = (value: unknown): void => printOut(jsonText(value, 2))

/** One line each (NDJSON). */
export const printJsonLine = (value: unknown): void => printOut(jsonText(value))

/** An error as programs get it. */
export const failureValue = ({ isBug: _, ...failure }: Failure): Omit<Failure, 'isBug'> => failure

/** One object on stderr: what is on stdout is either the result or nothing. */
export const printFailure = (failure: Failure): void =>
  printErr(jsonText({ error: failureValue(failure) }))
