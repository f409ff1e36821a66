/** What is not offered: `/Me` and `/Bulk` (501), methods that a path does not take (405), and all other paths (404). */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admit } from './caller.ts'
import { notFound, ScimError, sendScimError } from './errors.ts'

const onResources = ['GET', 'POST']
const onResource = ['DELETE', 'GET', 'PATCH', 'PUT']

const methodsAt: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(Users|Groups)$/, onResources],
  [/^((Users|Groups)\/)?\.search$/, ['POST']],
  [/^(Users|Groups)\/[^/]+$/, onResource],
  [/^ServiceProviderConfig$/, ['GET']],
  [/^(ResourceTypes|Schemas)(\/[^/]+)?$/, ['GET']],
]

const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const rest = (request.params as { '*': string })['*']
  if (/^(Me|Bulk)(\/|$)/.test(rest))
    return sendScimError(
      request,
      reply,
      new ScimError(501, `/${rest.split('/')[0]} is not offered`),
    )
  const [, methods] = methodsAt.find(([pattern]) => pattern.test(rest)) ?? []
  if (!methods || methods.includes(request.method))
    return sendScimError(request, reply, notFound('there is nothing at this address'))
  reply.header('allow', methods.join(', '))
  const detail = `this address takes ${methods.join(', ')}`
  return sendScimError(request, reply, new ScimError(405, detail))
}

export const elsewhereRoutes =
  ({ admit }: { readonly admit: Admit }, path: string) =>
  (app: FastifyInstance): void => {
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: `${path}/*`,
      config: { events: [] },
      handler: async (request, reply) => {
        await admit(request)
        return refuse(request, reply)
      },
    })
  }
