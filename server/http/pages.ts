/**
 * The pages that people see: eta templates from `templates/pages`, texts from its catalogues. Each is a line in one of the
 * families under `pages/`, with the type of what it is told; `Pages` has a function for each of them. They work
 * without scripts wherever the matter allows.
 */

import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from './cookies.ts'
import { chooseLanguage, type Language, type LanguageSettings } from './locale.ts'
import { type BrandingOf, readAssets } from './pages/assets.ts'
import { decisionPages } from './pages/decisions.ts'
import type { PageDefinition } from './pages/definition.ts'
import { enrolmentPages } from './pages/enrolment.ts'
import { factorPages } from './pages/factors.ts'
import { failurePages } from './pages/failures.ts'
import { landingPages } from './pages/landing.ts'
import { accountPages } from './pages/my-account.ts'
import { peoplePages } from './pages/people.ts'
import { createRenderer } from './pages/renderer.ts'
import { signInPages } from './pages/sign-in.ts'

export type * from './pages/context.ts'
export type * from './pages/decisions.ts'
export type * from './pages/enrolment.ts'
export type * from './pages/factors.ts'
export type * from './pages/failures.ts'
export * from './pages/field-errors.ts'
export type * from './pages/landing.ts'
export type * from './pages/my-account.ts'
export type * from './pages/people.ts'
export type * from './pages/sign-in.ts'

const definitions = {
  ...signInPages,
  ...factorPages,
  ...decisionPages,
  ...peoplePages,
  ...enrolmentPages,
  ...accountPages,
  ...failurePages,
  ...landingPages,
}

type Definitions = typeof definitions

type PageFunctions = {
  readonly [Name in keyof Definitions]: Definitions[Name] extends PageDefinition<infer Model>
    ? (reply: FastifyReply, page: Model) => FastifyReply
    : never
}

export interface Pages extends PageFunctions {
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
  const functions = Object.fromEntries(
    Object.entries<PageDefinition<never>>(definitions).map(([name, definition]) => [
      name,
      (reply: FastifyReply, page: never) => send(reply, definition, page),
    ]),
  ) as unknown as PageFunctions
  return {
    ...functions,
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
}
