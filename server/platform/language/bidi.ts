/**
 * Names within a sentence that runs in one direction (UAX #9). A name that turns the direction would carry the words after it
 * along, so that a page could be made to say something else: it keeps no control character that does so.
 */

const overrides = /[\u202a-\u202e\u2066-\u2069]/g
/** Letters and marks of scripts that are written from right to left. */
const rightToLeft =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Without the characters that change the direction of what comes after it. */
export const withoutOverrides = (name: string): string => name.replace(overrides, '')

/** With a direction of its own, where it needs one. */
export const isolated = (name: string, sentence: 'ltr' | 'rtl'): string => {
  const plain = withoutOverrides(name)
  return sentence === 'rtl' || rightToLeft.test(plain) ? `\u2068${plain}\u2069` : plain
}
