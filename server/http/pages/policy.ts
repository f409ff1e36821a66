/**
 * The Content-Security-Policy of a page (CSP Level 3): style sheets and scripts are files of ours, nothing is inline, and
 * nothing is fetched from elsewhere but the logos of the realm and of an application.
 */

/** A source that could end the directive or be a keyword is left out. */
const isSource = (text: string): boolean => /^[a-z][a-z0-9+.-]*:(?:\/\/[^\s;,'"]+)?$/i.test(text)

const originsOf = (urls: readonly string[]): string[] => [
  ...new Set(urls.flatMap((url) => URL.parse(url)?.origin ?? []).filter(isSource)),
]

export interface PolicyOptions {
  readonly scripted: boolean
  /** Whether a script asks the server for something. */
  readonly polls: boolean
  readonly images: readonly string[]
  readonly frames: readonly string[]
  readonly formTargets: readonly string[]
  /** Whether pages of ours may frame it. */
  readonly isFramed: boolean
}

export const pagePolicy = ({
  scripted,
  polls,
  images,
  frames,
  formTargets,
  isFramed,
}: PolicyOptions): string =>
  [
    "default-src 'none'",
    ...(scripted
      ? [
          "script-src 'self'",
          ...(polls ? ["connect-src 'self'"] : []),
          "require-trusted-types-for 'script'",
          "trusted-types 'none'",
        ]
      : []),
    ...(frames.length > 0 ? [`frame-src ${originsOf(frames).join(' ')}`] : []),
    "style-src 'self'",
    ["img-src 'self' data:", ...originsOf(images)].join(' '),
    `form-action ${["'self'", ...formTargets.filter(isSource)].join(' ')}`,
    "base-uri 'none'",
    `frame-ancestors ${isFramed ? "'self'" : "'none'"}`,
  ].join('; ')
