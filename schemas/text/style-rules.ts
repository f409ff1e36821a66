/**
 * What style rules of a realm must not hold: anything that leaves the style sheet, or makes the browser ask somebody for
 * something. With selectors on what a form holds, such a request would tell it (CSS exfiltration); a backslash could spell
 * any of the words. Whoever writes them is told; whoever shows them leaves them out all the same.
 */
const fetching =
  /[\\<]|@import|@font-face|@namespace|(?:url|src|image|image-set|cross-fade|element|expression)\s*\(/i

export const arePlainRules = (css: string): boolean => !fetching.test(css)
