/**
 * Regular expressions that a realm may write: RE2 syntax, matched in time linear in the text (re2js, a port of RE2 to
 * JavaScript). JavaScript's own engine backtracks, so one pattern could hold up every realm of the server
 * (CWE-1333). RE2 has no lookaround and no backreference; nothing that can be written here is matched by `RegExp`.
 */

import { RE2JS, RE2JSException } from 're2js'

/** A match costs at most this many instructions for each character of the text: `.{1,1000}` is one of 2,000. */
const maxProgram = 600

const refused = 'cannot be used as a pattern'
const syntax = 'patterns are RE2: no lookahead, no lookbehind, no backreference'

/** The expression, or why it cannot be used. */
const compiled = (pattern: string): RE2JS | string => {
  try {
    const expression = RE2JS.compile(pattern)
    return expression.programSize() <= maxProgram
      ? expression
      : `${refused}: its repetitions are too large together; give the length of a text by other means, such as minimum and maximum`
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return `${refused}: ${error.message.replace('error parsing regexp: ', '')} (${syntax})`
  }
}

/** Why a pattern cannot be used and what to do, or undefined. */
export const patternProblem = (pattern: string): string | undefined => {
  const expression = compiled(pattern)
  return typeof expression === 'string' ? expression : undefined
}

/**
 * Whether the whole text matches. A pattern that cannot be used matches nothing. It is compiled for every match: what
 * the engine remembers of one takes megabytes, and patterns are asked when a password is set.
 */
export const matchesWhole = (pattern: string, text: string): boolean => {
  const expression = compiled(pattern)
  return typeof expression !== 'string' && expression.testExact(text)
}
