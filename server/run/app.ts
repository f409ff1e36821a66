/** The HTTP server: what every request goes through, and the routes of every area. */

import type { FastifyInstance } from 'fastify'
import { followApi } from '#server/admin/openapi/openapi.ts'
import { createHttp } from '#server/http/server.ts'
import { isScim } from '#server/provisioning/scim/in/open.ts'
import { firstOf } from '#server/sign-in/pages/pending.ts'
import { createUnroutedPage } from '#server/sign-in/pages/unrouted.ts'
import type { Areas } from './open.ts'

export const createApp = (areas: Areas): FastifyInstance => {
  const { given, metrics, audit, realm, http, broker, signIn, oidc, saml } = areas
  const { provisioning, signals, scimIn, selfService, admin } = areas
  const { config, logger, clock } = given
  const app = createHttp({
    config,
    logger,
    clock,
    mapError: http.mapError,
    showUnrouted: createUnroutedPage({ pages: http.pages, settingsOf: realm.settingsOf }),
  })
  app.addHook(
    'onResponse',
    ({ method, routeOptions: { url } }, { statusCode, elapsedTime }, done) => {
      metrics.request({ method, route: url, status: statusCode, seconds: elapsedTime / 1000 })
      done()
    },
  )
  app.addHook('onRequest', ({ url }, _reply, done) => {
    if (!isScim(url)) http.foreground.note()
    done()
  })
  // They have no end of their own that closing could wait for.
  app.addHook('preClose', async () => {
    audit.streams.close()
    signals.endPolls()
  })
  followApi(app, config.http.baseUrl)
  app.register((scope, _options, done) => {
    http.pages.routes(scope, realm.settingsOf)
    done()
  })
  app.register(signIn.routes(firstOf([oidc.findPending, saml.findPending])))
  app.register(broker.routes)
  app.register(oidc.routes)
  app.register(saml.routes(oidc.framesOf))
  app.register(provisioning.routes)
  app.register(signals.routes)
  app.register(scimIn.routes)
  app.register(selfService.routes)
  app.register(admin.routes)
  return app
}
