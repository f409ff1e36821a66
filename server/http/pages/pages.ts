/**
 * The pages that people see: eta templates from `templates/pages`, texts from its catalogues. Each is a line in one of the
 * families under `pages/`, with the type of its data; `Pages` has a function for each of them. They work without scripts
 * where possible.
 */

import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../cookies/cookies.ts'
import { type BrandingOf, readAssets } from './assets.ts'
import { decisionPages } from './decisions.ts'
import type { PageDefinition } from './definition.ts'
import { enrolmentPages } from './enrolment.ts'
import { factorPages } from './factors.ts'
import { failurePages } from './failures.ts'
import { landingPages } from './landing.ts'
import { chooseLanguage, type Language, type LanguageSettings } from './locale.ts'
import { accountPages } from './my-account.ts'
import { peoplePages } from './people.ts'
import { createRenderer } from './renderer.ts'
import { signInPages } from './sign-in.ts'

export type * from './context.ts'
export type * from './decisions.ts'
export type * from './enrolment.ts'
export type * from './factors.ts'
export type * from './failures.ts'
export * from './field-errors.ts'
export type * from './landing.ts'
export type * from './my-account.ts'
export type * from './people.ts'
export type * from './sign-in.ts'

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
