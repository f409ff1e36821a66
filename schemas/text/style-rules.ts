/**
 * Content that style rules of a realm must not have: anything that leaves the style sheet or makes the browser send a request.
 * With selectors on form values such a request would leak them (CSS exfiltration); a backslash could spell any of the words.
 * The write is refused, and the pages drop such rules as well.
 */
const fetching =
  /[\\<]|@import|@font-face|@namespace|(?:url|src|image|image-set|cross-fade|element|expression)\s*\(/i

export const arePlainRules = (css: string): boolean => !fetching.test(css)
