/**
 * The name of a browser, from its User-Agent header. It only helps a user to tell sessions apart; no decision depends on
 * it.
 */

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

type Names = readonly (readonly [RegExp, string])[]

const nameIn = (names: Names, text: string): string | undefined =>
  names.find(([pattern]) => pattern.test(text))?.[1]

/** "Firefox, Linux"; undefined where neither is known. */
export const browserName = (userAgent: string | null): string | undefined => {
  if (userAgent === null) return undefined
  const known = [nameIn(browsers, userAgent), nameIn(systems, userAgent)].filter(Boolean)
  return known.length > 0 ? known.join(', ') : undefined
}
