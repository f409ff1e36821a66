/** What is not offered: `/Me` and `/Bulk` (501), methods that a path does not take (405), and all other paths (404). */

import type { FastifyInstance } from 'fastify'
import type { Admit, AdmitAnyone } from './caller.ts'
import { MethodRefused, notFound, ScimError } from './errors.ts'

const onResources = ['GET', 'POST']
const onResource = ['DELETE', 'GET', 'PATCH', 'PUT']

/** Read without a token, so that a refusal of other methods needs none either. */
const discovery = /^(ServiceProviderConfig|(ResourceTypes|Schemas)(\/[^/]+)?)$/

const methodsAt: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^$/, ['GET']],
  [/^(Users|Groups)$/, onResources],
  [/^((Users|Groups)\/)?\.search$/, ['POST']],
  [/^(Users|Groups)\/[^/]+$/, onResource],
  [discovery, ['GET']],
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
  (
    { admit, admitAnyone }: { readonly admit: Admit; readonly admitAnyone: AdmitAnyone },
    path: string,
  ) =>
  (app: FastifyInstance): void => {
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: `${path}/*`,
      config: { events: [] },
      handler: async (request) => {
        await (discovery.test(below(request.url)) ? admitAnyone(request) : admit(request))
        throw refusedAt(request.url, request.method)
      },
    })
  }
