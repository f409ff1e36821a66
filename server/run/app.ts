/** The composition root: the only file that knows every part and puts the routes together. */

import type { FastifyInstance } from 'fastify'
import { kinds } from '#schemas/registry.ts'
import { registerAction } from '#server/admin/action.ts'
import { createActions } from '#server/admin/actions.ts'
import { createAdminTokens } from '#server/admin/bearer.ts'
import { insistOnDescriptions, installGuard } from '#server/admin/guard.ts'
import { landingRoutes } from '#server/admin/landing.ts'
import { monitoringRoutes } from '#server/admin/monitoring.ts'
import { interactiveDocs } from '#server/admin/openapi/interactive-docs.ts'
import { followApi, openapiRoutes } from '#server/admin/openapi/openapi.ts'
import { adminResourceRoutes } from '#server/admin/resource-metadata.ts'
import { createHttp } from '#server/http/server.ts'
import { registerKind } from '#server/realm/crud/routes.ts'
import { masterRealm } from '#server/realm/realms.ts'
import { createResolveAdminSession } from '#server/sessions/admin-session.ts'
import type { Parts } from './parts.ts'

export const createApp = (parts: Parts): FastifyInstance => {
  const {
    config,
    cookies,
    csrf,
    pages,
    mapError,
    logger,
    clock,
    copy,
    storage,
    writer,
    presenter,
    metrics,
  } = parts
  const app = createHttp({ config, logger, clock, mapError })
  app.addHook(
    'onResponse',
    ({ method, routeOptions: { url } }, { statusCode, elapsedTime }, done) => {
      metrics.request({ method, route: url, status: statusCode, seconds: elapsedTime / 1000 })
      done()
    },
  )
  // They have no end of their own that closing could wait for.
  app.addHook('preClose', async () => parts.eventStreams.close())
  followApi(app, config.http.baseUrl)
  app.register((scope, _options, done) => {
    pages.routes(scope, parts.settingsOf)
    done()
  })
  app.register(openapiRoutes)
  app.register(interactiveDocs)
  app.register(landingRoutes({ ...parts, pages, mapError, master: masterRealm }))
  app.register(monitoringRoutes(parts))
  app.register(adminResourceRoutes({ baseUrl: config.http.baseUrl, master: masterRealm }))
  app.register(parts.signIn.routes(parts.oidc.findPending))
  app.register(parts.oidc.routes)
  app.register(parts.selfService.routes)

  app.register((admin, _options, done) => {
    insistOnDescriptions(admin)
    installGuard(admin, {
      ...parts,
      cookies,
      csrf,
      master: masterRealm,
      resolveSession: createResolveAdminSession({ ...parts, cookies, master: masterRealm }),
      tokens: createAdminTokens({
        ...parts,
        dpop: parts.oidc.dpop,
        baseUrl: config.http.baseUrl,
        master: masterRealm,
      }),
    })
    for (const action of createActions(parts))
      registerAction(admin, action, { copy, master: masterRealm })
    for (const kind of kinds) registerKind(admin, kind, { db: storage.db, copy, writer, presenter })
    done()
  })
  return app
}
