/** The composition root: the only file that knows every part and puts the routes together. */

import type { FastifyInstance } from 'fastify'
import { Problem } from '#schemas/problems.ts'
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
import { createCsrf } from '#server/http/cookies/csrf.ts'
import { createPages } from '#server/http/pages/pages.ts'
import { createHttp } from '#server/http/server.ts'
import { createFindPending } from '#server/oidc/authorize/pending-sign-in.ts'
import { oidcRoutes } from '#server/oidc/routes.ts'
import { createDpop } from '#server/oidc/token/dpop.ts'
import { HasherBusyError } from '#server/platform/passwords/hasher.ts'
import { registerKind } from '#server/realm/crud/routes.ts'
import { masterRealm } from '#server/realm/realms.ts'
import { accountRoutes } from '#server/self-service/routes.ts'
import { createResolveAdminSession } from '#server/sessions/admin-session.ts'
import { createSignInEngine } from '#server/sign-in/flow/create-engine.ts'
import { invitationRoutes } from '#server/sign-in/invitation-routes.ts'
import { createKnownDevices } from '#server/sign-in/known-devices.ts'
import { createSignInOrganizations } from '#server/sign-in/organizations.ts'
import { loginRoutes } from '#server/sign-in/pages/routes.ts'
import {
  ConstraintError,
  GuardFailedError,
  OutcomeUnknownError,
  StorageUnavailableError,
} from '#server/storage/contract.ts'
import type { Parts } from './parts.ts'

/** Errors of storage and hashing that reach a route, as the caller is told. */
const mapError = (error: unknown): Problem | undefined => {
  if (error instanceof GuardFailedError || error instanceof ConstraintError)
    return new Problem('conflict', 'it was changed at the same moment; try again', { cause: error })
  if (error instanceof HasherBusyError)
    return new Problem('unavailable', 'too many passwords are being checked; try again', {
      extra: { retryAfter: 1 },
      cause: error,
    })
  if (error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError)
    return new Problem('unavailable', 'the database does not answer', {
      extra: { retryAfter: 1 },
      cause: error,
    })
  return undefined
}

export const createApp = (parts: Parts): FastifyInstance => {
  const { config, cookies, logger, clock, copy, storage, writer, presenter, metrics } = parts
  const csrf = createCsrf(parts.csrfKey)
  const pages = createPages({ cookies })
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
  const engine = createSignInEngine({
    ...parts,
    pages,
    knownDevices: createKnownDevices({ ...parts, cookies, baseUrl: config.http.baseUrl }),
    organizations: createSignInOrganizations(parts),
    baseUrl: config.http.baseUrl,
    onLogin: metrics.login,
    onChallenge: metrics.mfaChallenge,
  })
  app.register(
    loginRoutes({
      ...parts,
      cookies,
      csrf,
      pages,
      mapError,
      master: masterRealm,
      engine,
      findPending: createFindPending({ ...parts, cookies }),
      onLogin: metrics.login,
    }),
  )
  app.register(invitationRoutes({ ...parts, cookies, csrf, pages, mapError, master: masterRealm }))
  app.register(
    oidcRoutes({ ...parts, cookies, csrf, pages, mapError, directLack: engine.directLack }),
  )
  app.register(accountRoutes({ ...parts, cookies, csrf, pages, mapError }))

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
        dpop: createDpop(parts),
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
