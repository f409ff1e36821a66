/** The protocol surface of every realm: forms in, JSON out, errors as RFC 6749 §5.2 says. */

import type { FastifyInstance } from 'fastify'
import { createEndpoints } from './endpoints.ts'
import { installOAuthErrors } from './errors.ts'
import { takeForms } from './parameters.ts'
import type { OidcParts } from './parts.ts'

export const oidcRoutes =
  (parts: OidcParts) =>
  async (app: FastifyInstance): Promise<void> => {
    installOAuthErrors(app, parts.mapError)
    takeForms(app)
    for (const endpoint of createEndpoints(parts)) endpoint.routes(app)
  }
