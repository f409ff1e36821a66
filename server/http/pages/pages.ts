/**
 * The pages for users: eta templates from `templates/pages`, texts from its catalogues. An area defines its own pages, each
 * in one line with the type of its data, and gets a function for each of them. They work without scripts where possible.
 */

import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../cookies/cookies.ts'
import { type BrandingOf, readAssets } from './assets.ts'
import type { PageDefinition } from './definition.ts'
import { failurePages } from './failures.ts'
import { chooseLanguage, type Language, type LanguageSettings } from './locale.ts'
import { createRenderer } from './renderer.ts'

export type * from './context.ts'
export type * from './failures.ts'
export * from './field-errors.ts'

/** A function for each definition, which shows its page. */
export type PagesOf<Definitions> = {
  readonly [Name in keyof Definitions]: Definitions[Name] extends PageDefinition<infer Model>
    ? (reply: FastifyReply, page: Model) => FastifyReply
    : never
}

type Definitions = Readonly<Record<string, PageDefinition<never>>>

export interface Pages extends PagesOf<typeof failurePages> {
  /** These pages and those that an area defines. */
  with<Defined extends Definitions>(definitions: Defined): Pages & PagesOf<Defined>
  /** The languages there are. */
  readonly locales: readonly string[]
  /** `locale` and `locales` of the context; `preferred` as an application asks for them in `ui_locales`. */
  language(
    request: FastifyRequest,
    settings?: LanguageSettings | null,
    preferred?: string | null,
  ): Language
  /** Adds the routes of what the pages load. */
  routes(app: FastifyInstance, brandingOf?: BrandingOf): void
}

/** Right from source, from a chunk of the bundle and from any working folder. */
export const findTemplates = (): string => {
  const manifest = findPackageJSON(import.meta.url)
  if (manifest === undefined) throw new Error('the package of the server is not complete')
  return join(dirname(manifest), 'templates', 'pages')
}

export interface PagesOptions {
  readonly templatesDir?: string
  readonly cookies?: Pick<Cookies, 'locale'>
}

export const createPages = ({
  templatesDir = findTemplates(),
  cookies,
}: PagesOptions = {}): Pages => {
  const assets = readAssets(templatesDir)
  const localeCookie = cookies?.locale
  const { locales, send } = createRenderer({ templatesDir, assets, localeCookie })
  const functionsOf = <Defined extends Definitions>(definitions: Defined) =>
    Object.fromEntries(
      Object.entries(definitions).map(([name, definition]) => [
        name,
        (reply: FastifyReply, page: never) => send(reply, definition, page),
      ]),
    ) as unknown as PagesOf<Defined>
  const pages: Pages = {
    ...functionsOf(failurePages),
    with: (definitions) => ({ ...pages, ...functionsOf(definitions) }),
    locales,
    language: (request, settings, preferred) =>
      chooseLanguage({
        request,
        available: locales,
        settings,
        preferred,
        cookieName: localeCookie?.name,
      }),
    routes: assets.routes,
  }
  return pages
}
