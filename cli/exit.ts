/** Exit codes, which are a public interface (docs/commands), and the errors that lead to them. */

import type { Diagnostic } from './diagnostics.ts'

export const exitCodes = {
  done: 0,
  error: 1,
  changes: 2,
  invalid: 3,
  denied: 4,
  unreachable: 5,
  conflict: 6,
  guarded: 7,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Shown in --help, in this order. */
export const exitCodeHelp: readonly (readonly [string, string])[] = [
  ['0', 'done, or nothing to do'],
  ['1', 'error'],
  ['2', 'there are changes (plan --detailed-exitcode, drift)'],
  ['3', 'a file is not valid'],
  ['4', 'not signed in, or not permitted'],
  ['5', 'the server cannot be reached'],
  ['6', 'the plan is stale, or a document was changed concurrently or belongs to another estate'],
  ['7', 'a guard refused: too many deletions, a protected document, no files left'],
  ['130', 'ended by Ctrl-C (SIGINT); 143 by SIGTERM'],
]

/** Ends a command: the message says what happened, the hint what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: ExitCode
  readonly hint: string | undefined
  readonly diagnostics: readonly Diagnostic[]
  constructor(
    exitCode: ExitCode,
    message: string,
    options: { hint?: string; diagnostics?: readonly Diagnostic[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = exitCode
    this.hint = options.hint
    this.diagnostics = options.diagnostics ?? []
  }
}
