/**
 * The branding of a realm on a page: style rules and the origin of its logo. The values were checked when they were
 * stored, and are checked here again, because a gap in those checks would have its effect here (CVE-2026-37980,
 * CVE-2026-42849).
 */

import { arePlainRules } from '#schemas/text/style-rules.ts'
import { isColor, isDark, mix, readableOn, textOn } from './colors.ts'

export interface Branding {
  readonly displayName?: string | null | undefined
  readonly logoUrl?: string | null | undefined
  readonly primaryColor?: string | null | undefined
  readonly backgroundColor?: string | null | undefined
  readonly welcomeText?: string | null | undefined
  readonly customCss?: string | null | undefined
}

/** What the style sheet paints a card with; kept equal to it by a test. */
export const cardColors = { light: '#ffffff', dark: '#191e27' } as const
const DARK_PAGE = '#0f1319'

const rule = (variables: Readonly<Record<string, string>>): string =>
  `:root{${Object.entries(variables)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')}}`

const inDark = (rules: string): string => `@media (prefers-color-scheme:dark){${rules}}`

const primaryRules = (color: string): string => {
  const text = textOn(color)
  const hover = mix(color, text === '#ffffff' ? '#000000' : '#ffffff', 0.14)
  return (
    rule({
      primary: color,
      'primary-hover': hover,
      'on-primary': text,
      accent: readableOn(color, cardColors.light),
    }) + inDark(rule({ accent: readableOn(color, cardColors.dark) }))
  )
}

/** A light background keeps its hue in the dark scheme, not its brightness. */
const backgroundRules = (color: string): string => {
  const night = isDark(color) ? color : mix(color, DARK_PAGE, 0.97)
  const on = (page: string) => rule({ page, 'on-page': textOn(page) })
  return on(color) + inDark(on(night))
}

/** The style sheet of a realm; rules that could fetch something are left out as a whole. */
export const brandStyle = ({ primaryColor, backgroundColor, customCss }: Branding): string =>
  [
    primaryColor && isColor(primaryColor) ? primaryRules(primaryColor) : '',
    backgroundColor && isColor(backgroundColor) ? backgroundRules(backgroundColor) : '',
    // Last, so that an unclosed brace swallows nothing of ours.
    customCss && arePlainRules(customCss) ? customCss : '',
  ].join('')

/** The picture's address in normal form; none unless it is plain https. */
export const logoOf = ({ logoUrl }: Branding): URL | undefined => {
  const url = logoUrl ? URL.parse(logoUrl) : null
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url : undefined
}
