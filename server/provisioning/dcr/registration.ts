/** Client registration below the issuer: its routes, their limits, and requests of pages of other origins. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressGroup } from '#server/http/client-address.ts'
import type { MapError } from '#server/http/errors.ts'
import type { SlowRefusal } from '#server/http/limits/slow-refusals.ts'
import { createMemoryLimiter, rateLimited } from '#server/http/rate-limit.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { describeManaged, describeRegister } from './describe-register.ts'
import { installRegistrationErrors } from './errors.ts'
import { registerPath } from './information.ts'
import { type ClientRoute, createManage, type ManageParts } from './manage.ts'
import { createRegister, type RealmRoute, type RegisterParts } from './register.ts'

export interface RegistrationParts extends RegisterParts, ManageParts {
  readonly mapError: MapError | undefined
  readonly slowRefusal: SlowRefusal
}

/** From one address: far more than a client needs, far less than would fill a realm or its log. */
const perMinute = 120
/** Metadata with keys and a software statement is smaller. */
const longestBody = 128 * 1024

/** Pages of applications register too (MCP clients in a browser); no cookie counts here. */
const allowPages = (app: FastifyInstance, places: readonly (readonly [string, string])[]): void => {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('access-control-allow-origin', '*')
  })
  for (const [url, methods] of places)
    app.options(url, async (_request, reply) =>
      reply
        .code(204)
        .headers({
          'access-control-allow-methods': methods,
          'access-control-allow-headers': 'authorization, content-type',
          'access-control-max-age': '600',
        })
        .send(),
    )
}

export const registration = (parts: RegistrationParts): Endpoint => {
  const { storage, clock, vault, registered, documents, requests, mapError, slowRefusal } = parts
  const register = createRegister({ storage, clock, registered, documents, requests })
  const manage = createManage({ vault, registered, documents, requests })
  const limiter = createMemoryLimiter(clock, { limit: perMinute, seconds: 60 })
  const [all, one] = [urlOf(registerPath), urlOf(`${registerPath}/:clientId`)]
  return {
    path: registerPath,
    routes: (app) => {
      installRegistrationErrors(app, { mapError, slowRefusal })
      allowPages(app, [
        [all, 'POST'],
        [one, 'GET, PUT, DELETE'],
      ])
      const keyOf = ({ ip }: FastifyRequest): string => addressGroup(ip)
      const limited = { onRequest: rateLimited(limiter, keyOf), bodyLimit: longestBody }
      app.post<RealmRoute>(all, { ...limited, ...describeRegister }, register)
      app.get<ClientRoute>(one, { ...limited, ...describeManaged.read }, manage.read)
      app.put<ClientRoute>(one, { ...limited, ...describeManaged.update }, manage.update)
      app.delete<ClientRoute>(one, { ...limited, ...describeManaged.remove }, manage.remove)
    },
  }
}
