/** Opens the admin API: its guard, actions and kinds, its description, and the pages and probes of the server itself. */

import type { FastifyPluginAsync } from 'fastify'
import { kinds } from '#schemas/registry.ts'
import type { Config } from '#server/config/index.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { OidcArea } from '#server/oidc/open.ts'
import { registerKind } from '#server/realm/crud/routes.ts'
import { createResolveAdminSession } from '#server/sessions/admin-session.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { registerAction } from './action.ts'
import { type ActionNeeds, createActions } from './actions.ts'
import { createAdminTokens } from './bearer.ts'
import { insistOnDescriptions, installGuard } from './guard.ts'
import { createHealth } from './health.ts'
import { landingRoutes } from './landing.ts'
import { landingPages } from './landing-page.ts'
import { monitoringRoutes } from './monitoring.ts'
import { interactiveDocs } from './openapi/interactive-docs.ts'
import { openapiRoutes } from './openapi/openapi.ts'
import { adminResourceRoutes } from './resource-metadata.ts'

export interface AdminNeeds extends ActionNeeds {
  readonly config: Pick<Config, 'runtime'>
  readonly metrics: Pick<Metrics, 'adminWrite'>
  readonly tokens: Pick<TokensArea, 'issuers' | 'verifier' | 'publishedRealm'>
  readonly http: HttpArea
  readonly oidc: Pick<OidcArea, 'consents' | 'dpop'>
  /** The name of the realm whose administrators look after all others. */
  readonly master: string
}

export const openAdmin = (needs: AdminNeeds) => {
  const { config, storage, copy, clock, platform, metrics, sessions, baseUrl, master } = needs
  const { recorder, forwarder } = needs.audit
  const { ranks } = needs.users
  const { issuers, verifier } = needs.tokens
  const { writer, presenter, settingsOf } = needs.realm
  const { cookies, csrf, pages, mapError } = needs.http
  const { dpop } = needs.oidc
  const { siblings } = platform
  const health = createHealth({ storage, config, clock, siblings, forwarder })
  const actions = createActions(needs)
  const resolveSession = createResolveAdminSession({ sessions, cookies, master, settingsOf })
  const tokens = createAdminTokens({ issuers, verifier, ranks, dpop, baseUrl, master })

  const api: FastifyPluginAsync = async (app) => {
    insistOnDescriptions(app)
    installGuard(app, {
      copy,
      ranks,
      sessions,
      recorder,
      metrics,
      cookies,
      csrf,
      master,
      settingsOf,
      resolveSession,
      tokens,
    })
    for (const action of actions) registerAction(app, action, { copy, master })
    for (const kind of kinds) registerKind(app, kind, { db: storage.db, copy, writer, presenter })
  }

  const routes: FastifyPluginAsync = async (app) => {
    app.register(openapiRoutes)
    app.register(interactiveDocs)
    app.register(
      landingRoutes({
        settingsOf,
        pages: pages.with(landingPages),
        mapError,
        master,
        publishedRealm: needs.tokens.publishedRealm,
      }),
    )
    app.register(monitoringRoutes({ health, siblings }))
    app.register(adminResourceRoutes({ baseUrl, master }))
    app.register(api)
  }

  return { health, actions, routes }
}
