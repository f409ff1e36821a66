/** Context of a request to the pages of a realm: the realm, whether it is enabled, and the session. */

import type { FastifyRequest } from 'fastify'
import { isObject } from '#schemas/json-schema.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem } from '#schemas/problems.ts'
import type { PageContext, Pages } from '#server/http/pages/pages.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { settingsOf } from '#server/storage/documents/settings.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { Browser } from './browser.ts'

export interface RealmRoute {
  Params: { realm: string }
}

export interface Visit {
  readonly realm: string
  /** As of the beginning of the request. */
  readonly view: RealmView
  readonly settings: SettingsDoc
  /** Whether sign-in is enabled. */
  readonly isOpen: boolean
  readonly current: FoundSession | undefined
}

export interface VisitParts {
  readonly browser: Browser
  readonly sessions: Sessions
  /** The realm that cannot be switched off. */
  readonly master: string
  readonly copy: Pick<Copy, 'fresh'>
}

/** Throws a 404 for a realm that does not exist. */
export const createVisits =
  ({ browser, sessions, master, copy }: VisitParts) =>
  async (request: FastifyRequest<RealmRoute>): Promise<Visit> => {
    const { realm } = request.params
    const view = await copy.fresh(realm)
    const settings = view && (await settingsOf(view))
    if (!settings) throw new Problem('not-found', 'There is no such realm.')
    const isOpen = settings.enabled || realm === master
    const cookie = browser.sessionCookie(request, realm)
    const current =
      isOpen && cookie !== undefined ? await sessions.find(realm, cookie, settings) : undefined
    return { realm, view, settings, isOpen, current }
  }

export type Visits = ReturnType<typeof createVisits>

/** How pages of the realm look; also of one that does not exist. Preferred languages go before those of the browser. */
export const pageContext = (
  pages: Pages,
  request: FastifyRequest,
  realm: string,
  settings: SettingsDoc | null,
  preferred?: string,
): PageContext => {
  const language = pages.language(request, settings, preferred)
  return { realm, ...language, ...(settings !== null && { branding: settings }) }
}

/** `ui_locales` of a request, by GET or as a form, whatever else is wrong with it (OIDC Core §3.1.2.1, RP-Initiated Logout §2). */
const localesAsked = ({ query, body }: FastifyRequest): string | undefined => {
  const sent = typeof body === 'string' ? Object.fromEntries(new URLSearchParams(body)) : query
  const value = isObject(sent) ? sent['ui_locales'] : undefined
  return typeof value === 'string' ? value : undefined
}

/** The context of the error pages of a protocol, which may be about a realm that does not exist. */
export const errorContext =
  (pages: Pages, issuers: Pick<Issuers, 'known'>) =>
  async (request: FastifyRequest): Promise<PageContext> => {
    const { realm = '' } = request.params as Partial<RealmRoute['Params']>
    const issuer = await issuers.known(realm).catch(() => undefined)
    const settings = issuer?.settings ?? null
    return pageContext(pages, request, realm, settings, localesAsked(request))
  }
