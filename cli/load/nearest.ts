/** "Did you mean …" for a word of a file that is not known. */

import { nearest } from '#schemas/text/typos.ts'

/** The hint of a diagnostic, where one of the known words is close. */
export const didYouMean = (word: string, known: Iterable<string>): { readonly hint?: string } => {
  const found = nearest(word, known)
  return found === undefined ? {} : { hint: `did you mean "${found}"?` }
}
