/** Makes a page from its template, the texts of its language and the looks of its realm, and sends it. */

import { join } from 'node:path'
import { Eta } from 'eta'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { dateIn } from '#server/platform/language/dates.ts'
import type { Cookie } from '../cookies/cookies.ts'
import { documentHeaders } from '../headers.ts'
import type { Assets } from './assets.ts'
import { logoOf } from './branding.ts'
import { type Catalogue, createTranslator, readCatalogues } from './catalogues.ts'
import type { PageContext } from './context.ts'
import type { PageDefinition } from './definition.ts'
import { createFrames, type Rendered } from './frames.ts'
import { languageParameter } from './locale.ts'
import { pagePolicy } from './policy.ts'
import { qrPicture } from './qr.ts'

export interface RendererOptions {
  readonly templatesDir: string
  readonly assets: Assets
  /** Keeps the language that the user switched to; without it the switch holds for one page. */
  readonly localeCookie?: Cookie | undefined
}

/** One of the languages that a page can be switched to. */
interface SwitchLink {
  readonly code: string
  readonly name: string
  readonly href: string
  readonly current: boolean
}

/** Names and texts of people are escaped: only the layout writes this. */
const isScripted = (html: string): boolean => html.includes('<script src="')

/** A link of nothing but a query stays at the page, wherever that is. */
const switchTo = ({ url }: FastifyRequest, code: string): string => {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '')
  query.set(languageParameter, code)
  return `?${query}`
}

const hasFields = <Page extends object>(
  page: Page,
): page is Page & { readonly fields: Readonly<Record<string, string>> } => 'fields' in page

export const createRenderer = ({ templatesDir, assets, localeCookie }: RendererOptions) => {
  const eta = new Eta({ views: templatesDir, cache: true })
  const framed = createFrames((value) => eta.config.escapeFunction(value))
  const catalogues = readCatalogues(join(templatesDir, 'messages'))
  const english = catalogues.get('en') ?? {}
  const wordsOf = (lang: string, texts: Catalogue) => {
    const t = createTranslator(texts, english)
    return {
      lang,
      t,
      /** A text of the realm; one that is the English text under such a key, as every realm is born with, in this language. */
      told: (start: string, text: string): string => {
        const key = Object.keys(english).find(
          (one) => one.startsWith(start) && english[one] === text,
        )
        return key === undefined ? text : t(key)
      },
      date: (time: number) => dateIn(lang, time),
    }
  }
  const words = new Map([...catalogues].map(([lang, texts]) => [lang, wordsOf(lang, texts)]))

  const linksOf = (
    request: FastifyRequest,
    offered: readonly string[],
    current: string,
  ): SwitchLink[] =>
    offered.length < 2
      ? []
      : offered.map((code) => ({
          code,
          name: catalogues.get(code)?.['language'] ?? code,
          href: switchTo(request, code),
          current: code === current,
        }))

  const keepLanguage = (reply: FastifyReply, locale: string): void => {
    const { query } = reply.request
    const asked: unknown =
      typeof query === 'object' && query !== null ? Reflect.get(query, languageParameter) : ''
    if (localeCookie && asked === locale)
      reply.setCookie(localeCookie.name, locale, localeCookie.options)
  }

  const render = <Model extends PageContext>(
    request: FastifyRequest,
    { template, script, frames, images, once = false, isFramed = false }: PageDefinition<Model>,
    page: Model,
    lang: string,
  ): Rendered => {
    const { realm, branding = {}, locales = [], formTargets = [] } = page
    const logo = logoOf(branding)
    const needed = script?.(page)
    const html = eta.render(template, {
      ...page,
      ...words.get(lang),
      languages: once ? [] : linksOf(request, locales, lang),
      brand: branding.displayName || realm,
      welcome: branding.welcomeText || undefined,
      brandLogo: logo?.href,
      sheets: [assets.pathOf('pages.css'), assets.stylePath(realm, branding)].filter(Boolean),
      script: needed && assets.pathOf(`${needed}.js`),
      formScript: assets.pathOf('forms.js'),
      polls: needed === 'poll',
      picture: qrPicture,
    })
    const policy = pagePolicy({
      scripted: isScripted(html),
      polls: needed === 'poll',
      images: [...(logo ? [logo.href] : []), ...(images?.(page) ?? [])],
      frames: frames?.(page) ?? [],
      formTargets,
      isFramed,
    })
    return { html, policy }
  }

  const send = <Model extends PageContext>(
    reply: FastifyReply,
    definition: PageDefinition<Model>,
    page: Model,
  ): FastifyReply => {
    const { status = 200 } = page
    const { template, isFilled = false, isFramed = false } = definition
    const lang = page.locale !== undefined && catalogues.has(page.locale) ? page.locale : 'en'
    const whole = (one: Model): Rendered => render(reply.request, definition, one, lang)
    const { html, policy } =
      isFilled && hasFields(page) ? framed(page, `${template} ${isFramed}`, whole) : whole(page)
    keepLanguage(reply, lang)
    return reply
      .code(status)
      .headers(documentHeaders)
      .header('content-security-policy', policy)
      .headers(isFramed ? { 'x-frame-options': 'SAMEORIGIN' } : {})
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(html)
  }

  return { locales: [...catalogues.keys()], send }
}
