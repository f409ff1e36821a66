/**
 * Keycloak's paths of endpoints that we have elsewhere, for realms with `keycloakPaths`: an application moves over by
 * changing the host. A path is served by the handler of our own path, in the same scope. Where the realm does not have the
 * switch, the answer is that of a path that does not exist.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { own } from '#schemas/own.ts'
import type { Issuers } from '../issuers.ts'

/** Keycloak's path by ours, both below the issuer. */
export type KeycloakPaths = Readonly<Record<string, string>>

export const issuerPath = '/realms/:realm'

interface RealmRoute {
  Params: { realm: string }
}

/** Before the body is read. */
export const onlyWithKeycloakPaths =
  (issuers: Pick<Issuers, 'known'>) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { realm } = (request as FastifyRequest<RealmRoute>).params
    const issuer = await issuers.known(realm)
    if (!issuer?.settings.keycloakPaths) reply.callNotFound()
  }

/** Gives the routes that are added to the scope of `app` from now on their second paths. */
export const addKeycloakPaths = (
  app: FastifyInstance,
  issuers: Pick<Issuers, 'known'>,
  paths: KeycloakPaths,
): void => {
  const onRequest = onlyWithKeycloakPaths(issuers)
  app.addHook('onRoute', function (this: FastifyInstance, { url, method, handler, ...options }) {
    const path = url.startsWith(issuerPath) ? own(paths, url.slice(issuerPath.length)) : undefined
    // Fastify adds the HEAD of a GET by itself.
    if (path === undefined || method === 'HEAD') return
    const { config, bodyLimit, exposeHeadRoute } = options
    this.route({
      url: `${issuerPath}${path}`,
      method,
      handler,
      onRequest,
      config: { ...config, untold: true },
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      ...(exposeHeadRoute === undefined ? {} : { exposeHeadRoute }),
    })
  })
}
