/** What is not offered: `/Me` and `/Bulk` (501), methods that a path does not take (405), and all other paths (404). */

import type { FastifyInstance } from 'fastify'
import type { Admit } from './caller.ts'
import { MethodRefused, notFound, ScimError } from './errors.ts'

const onResources = ['GET', 'POST']
const onResource = ['DELETE', 'GET', 'PATCH', 'PUT']

const methodsAt: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^$/, ['GET']],
  [/^(Users|Groups)$/, onResources],
  [/^((Users|Groups)\/)?\.search$/, ['POST']],
  [/^(Users|Groups)\/[^/]+$/, onResource],
  [/^ServiceProviderConfig$/, ['GET']],
  [/^(ResourceTypes|Schemas)(\/[^/]+)?$/, ['GET']],
]

/** What is below `/scim/v2/` of an address. */
const below = (url: string): string => /\/scim\/v2\/([^?#]*)/.exec(url)?.[1] ?? ''

/** Of a request to an address that does not take it. */
export const refusedAt = (url: string, method: string): ScimError => {
  const rest = below(url)
  if (/^(Me|Bulk)(\/|$)/.test(rest))
    return new ScimError(501, `/${rest.split('/')[0]} is not offered`)
  const [, methods] = methodsAt.find(([pattern]) => pattern.test(rest)) ?? []
  return !methods || methods.includes(method)
    ? notFound('there is nothing at this address')
    : new MethodRefused(methods)
}

export const unsupportedRoutes =
  ({ admit }: { readonly admit: Admit }, path: string) =>
  (app: FastifyInstance): void => {
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: `${path}/*`,
      config: { events: [] },
      handler: async (request) => {
        await admit(request)
        throw refusedAt(request.url, request.method)
      },
    })
  }
