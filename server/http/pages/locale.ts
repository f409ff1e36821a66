/**
 * The language of a page: what the user switched to, else what the application asks for (`ui_locales`, OIDC Core
 * §3.1.2.1), else what the browser prefers (RFC 9110 §12.5.4, lookup of RFC 4647 §3.4), else the realm's own.
 */

import type { FastifyRequest } from 'fastify'

const MAX_RANGES = 20
const MAX_LENGTH = 1000

/** The parameter of a page's address that switches its language. */
export const languageParameter = 'lang'

interface Range {
  readonly tag: string
  readonly quality: number
}

/** Languages separated by commas, as browsers send them, or by spaces, as applications do. */
const rangesOf = (list: string): Range[] =>
  list
    .slice(0, MAX_LENGTH)
    .toLowerCase()
    .replace(/ ?; ?/g, ';')
    .split(/[\s,]+/, MAX_RANGES)
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';')
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)

const find = (list: string, available: readonly string[]): string | undefined => {
  for (const { tag } of rangesOf(list)) {
    const language = tag.split('-')[0]
    const found = available.find((one) => one === tag) ?? available.find((one) => one === language)
    if (found !== undefined) return found
  }
  return undefined
}

/** The first of the wishes that can be met. */
export const pickLocale = (
  wishes: readonly (string | null | undefined)[],
  available: readonly string[],
  fallback: string,
): string => {
  for (const wish of wishes) {
    const found = wish ? find(wish, available) : undefined
    if (found !== undefined) return found
  }
  return fallback
}

/** The part of a realm's settings that counts here. */
export interface LanguageSettings {
  /** None means all that exist. */
  readonly supportedLocales?: readonly string[] | undefined
  readonly defaultLocale?: string | undefined
}

export interface Language {
  readonly locale: string
  /** The languages that can be switched to. */
  readonly locales: readonly string[]
}

export interface LanguageChoice {
  readonly request: FastifyRequest
  readonly available: readonly string[]
  readonly settings?: LanguageSettings | null | undefined
  readonly preferred?: string | null | undefined
  readonly cookieName?: string | undefined
}

const switchedTo = ({ query }: FastifyRequest): string | undefined => {
  const value: unknown =
    typeof query === 'object' && query !== null ? Reflect.get(query, languageParameter) : undefined
  return typeof value === 'string' ? value : undefined
}

export const chooseLanguage = ({
  request,
  available,
  settings,
  preferred,
  cookieName,
}: LanguageChoice): Language => {
  const { supportedLocales = [], defaultLocale = 'en' } = settings ?? {}
  const offered = available.filter(
    (one) => supportedLocales.length === 0 || supportedLocales.includes(one),
  )
  const kept = cookieName === undefined ? undefined : request.cookies[cookieName]
  const wishes = [switchedTo(request), kept, preferred, request.headers['accept-language']]
  return { locale: pickLocale(wishes, offered, defaultLocale), locales: offered }
}
