/**
 * The regular expression of a password policy, run so that it cannot hold the server up. JavaScript's
 * engine backtracks and an operator may write a pattern that takes for ever on the right password, so
 * it runs in `node:vm` with a time limit, which interrupts V8 inside the match. A match cut off counts
 * as a mismatch. A linear-time engine (RE2) would need another native dependency for this one field.
 */

import { runInNewContext } from 'node:vm'

const MAX_PATTERN = 512
const TIME_LIMIT_MS = 100
/** The limit is one of the clock: on a busy machine a quick match may not get the processor in time. */
const TRIES = 2

/** Why a pattern cannot be used, or undefined. For the moment a policy is written. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `is longer than ${MAX_PATTERN} characters`
  if (compile(pattern) === undefined) return 'is not a regular expression'
  // Not a proof, the time limit is: this tells the author at once instead of a user later.
  const slow = probes(pattern).some((text) => run(pattern, text) === 'too slow')
  return slow ? 'takes too long on some passwords (nested or adjacent repetition)' : undefined
}

/** The whole password must match, as it must in Keycloak. */
export function matchesPattern(pattern: string, password: string): boolean {
  return run(pattern, password) === 'match'
}

type Outcome = 'match' | 'mismatch' | 'too slow'

function run(pattern: string, text: string): Outcome {
  const expression = compile(pattern)
  if (expression === undefined) return 'mismatch'
  let outcome: Outcome = 'too slow'
  for (let tries = 0; tries < TRIES && outcome === 'too slow'; tries += 1)
    outcome = tryOnce(expression, text)
  return outcome
}

function tryOnce(expression: RegExp, text: string): Outcome {
  try {
    const matched: unknown = runInNewContext(
      'expression.test(text)',
      { expression, text },
      { timeout: TIME_LIMIT_MS },
    )
    return matched === true ? 'match' : 'mismatch'
  } catch (error) {
    if (isTimeout(error)) return 'too slow'
    throw error
  }
}

/** Made in the other context, so it is no instance of this one's Error. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  )
}

function compile(pattern: string): RegExp | undefined {
  try {
    // First on its own: `a)|(b` would be valid only inside the parentheses added below.
    new RegExp(pattern, 'u')
    return new RegExp(`^(?:${pattern})$`, 'u')
  } catch {
    return undefined
  }
}

/** Long runs of one character of each sort, and of the pattern's own, that fail at the very end. */
function probes(pattern: string): string[] {
  const literals = pattern.match(/[\p{L}\p{Nd}]/gu) ?? []
  const characters = new Set(['a', 'A', '0', ' ', '!', ...literals.slice(0, 16)])
  return [...characters].flatMap((character) =>
    ['', '!', '\n'].map((end) => character.repeat(1000) + end),
  )
}
