/** The landing page of a browser at an address of the server, the admin API or a realm: its name, and links. */

import type { PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'

interface LandingLink<Id extends string> {
  readonly id: Id
  readonly url: string
}

export interface LandingPage extends PageContext {
  readonly what: 'server' | 'admin' | 'realm'
  /** Public links, the most likely first. */
  readonly ways: readonly LandingLink<'login' | 'account' | 'administrator'>[]
  /** For operators and developers. */
  readonly references: readonly LandingLink<'admin' | 'docs' | 'openapi' | 'discovery'>[]
}

export const landingPages = {
  landing: definePage<LandingPage>('landing'),
}

export type LandingPages = Pages & PagesOf<typeof landingPages>
