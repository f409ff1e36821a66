/**
 * The only CRUD router: every kind's routes, from its descriptor. Each shape has its verbs; the permission stands in
 * the route's config, where the admin guard finds it.
 */

import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Kind, Shape } from '#schemas/kind.ts'
import { readView } from '#schemas/views.ts'
import { createVerbs, type ResourceParts, type Verbs } from './verbs.ts'

interface Route {
  readonly method: HTTPMethods
  /** Of one document, or of the collection. */
  readonly one: boolean
  readonly verb: keyof Verbs
}

const onCollection = (method: HTTPMethods, verb: keyof Verbs): Route => ({
  method,
  one: false,
  verb,
})
const onOne = (method: HTTPMethods, verb: keyof Verbs): Route => ({ method, one: true, verb })

const many: readonly Route[] = [
  onCollection('GET', 'list'),
  onCollection('POST', 'create'),
  onOne('GET', 'read'),
  onOne('PUT', 'replace'),
  onOne('DELETE', 'remove'),
]

const routesOf: Readonly<Record<Shape, readonly Route[]>> = {
  collection: many,
  tree: many,
  child: many,
  upsert: [
    onCollection('GET', 'list'),
    onCollection('PUT', 'upsert'),
    onOne('GET', 'read'),
    onOne('PUT', 'replace'),
    onOne('DELETE', 'remove'),
  ],
  singleton: [onCollection('GET', 'read'), onCollection('PUT', 'replace')],
}

const page = {
  type: 'object',
  properties: {
    first: { type: 'integer', minimum: 0, description: 'How many to pass over.' },
    max: { type: 'integer', minimum: 0, maximum: 10_000, description: 'How many to answer.' },
  },
  additionalProperties: false,
}

const replyOf = (kind: Kind, verb: keyof Verbs): object => {
  if (verb === 'remove') return { 204: { type: 'null' } }
  const shown = readView(kind)
  if (verb === 'list') return { 200: { type: 'array', items: shown } }
  return { [verb === 'create' ? 201 : 200]: shown }
}

export const registerKind = (app: FastifyInstance, kind: Kind, parts: ResourceParts): void => {
  if (kind.path === null) return
  const verbs = createVerbs(kind, parts)
  const path = `/admin/realms/:realm${kind.path.replace(/\{[a-z-]+\}/, ':parent')}`
  for (const { method, one, verb } of routesOf[kind.shape])
    app.route({
      method,
      url: one ? `${path}/:id` : path,
      handler: verbs[verb],
      schema: {
        operationId: `${verb}-${kind.kind}`,
        summary: `${verb} ${kind.kind}`,
        ...(verb === 'list' ? { querystring: page } : {}),
        response: replyOf(kind, verb),
      },
      config: {
        permission: method === 'GET' ? kind.permission.read : kind.permission.write,
        resourceType: kind.resourceType,
      },
    })
}
