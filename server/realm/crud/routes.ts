/**
 * The only CRUD router: every kind's routes, from its descriptor. Each shape has its verbs; the permission is in the
 * config of the route, for the admin guard.
 */

import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind, Shape } from '#schemas/kind.ts'
import { bodyView, readView } from '#schemas/views.ts'
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

/** The schemas of a kind's routes, made once: there are many routes. */
interface Views {
  readonly shown: JsonSchema
  /** As a write answers it: secrets that reads leave out are there once, where they were made. */
  readonly written: JsonSchema
  readonly body: JsonSchema
}

const viewsOf = (kind: Kind): Views => {
  const shown = { ...readView(kind), title: kind.kind }
  const body = bodyView(kind)
  const description = 'Shown this once, if made.'
  const made = Object.entries(kind.spec.properties ?? {}).flatMap(
    ([name, schema]): [string, JsonSchema][] => {
      const { read, made: isMade } = schema['x-secret'] ?? {}
      if (read === 'absent') return [[name, { type: 'string', description }]]
      return isMade ? [[name, { type: ['string', 'null'], description }]] : []
    },
  )
  if (made.length === 0) return { shown, written: shown, body }
  const properties = { ...shown.properties, ...Object.fromEntries(made) }
  return { shown, written: { ...shown, properties, title: `${kind.kind}-written` }, body }
}

const replyOf = ({ shown, written }: Views, verb: keyof Verbs): object => {
  if (verb === 'remove') return { 204: { type: 'null' } }
  if (verb === 'list') return { 200: { type: 'array', items: shown } }
  if (verb === 'read') return { 200: shown }
  return { [verb === 'create' ? 201 : 200]: written }
}

const words = (name: string): string => name.replaceAll('-', ' ')

const summaryOf = (kind: Kind, verb: keyof Verbs): string => {
  if (verb === 'list') return `List ${words(kind.resourceType)}`
  const one = kind.shape === 'singleton' ? 'the' : /^[aeiou]/.test(kind.kind) ? 'an' : 'a'
  const does = verb === 'upsert' ? 'create or replace' : verb === 'remove' ? 'delete' : verb
  return `${does.charAt(0).toUpperCase()}${does.slice(1)} ${one} ${words(kind.kind)}`
}

/** A natural key of several fields is also a path of several segments, as in /providers/EMAIL/smtp. */
const addressesOf = (kind: Kind, path: string): { url: string; suffix: string }[] => [
  { url: `${path}/:id`, suffix: '' },
  ...(kind.keyFields.length > 1
    ? [{ url: `${path}/:${kind.keyFields.join('/:')}`, suffix: '-by-key' }]
    : []),
]

export const registerKind = (app: FastifyInstance, kind: Kind, parts: ResourceParts): void => {
  if (kind.path === null) return
  const verbs = createVerbs(kind, parts)
  const views = viewsOf(kind)
  const path = `/admin/realms/:realm${kind.path.replace(/\{[a-z-]+\}/, ':parent')}`
  for (const { method, one, verb } of routesOf[kind.shape])
    for (const { url, suffix } of one ? addressesOf(kind, path) : [{ url: path, suffix: '' }])
      app.route({
        method,
        url,
        handler: verbs[verb],
        schema: {
          operationId: `${verb}-${kind.kind}${suffix}`,
          summary: summaryOf(kind, verb),
          ...(verb === 'list' ? { querystring: page } : {}),
          response: replyOf(views, verb),
        },
        config: {
          permission: method === 'GET' ? kind.permission.read : kind.permission.write,
          resourceType: kind.resourceType,
          kind: kind.kind,
          ...(verb === 'upsert' ? { events: ['ADMIN_UPDATE', 'ADMIN_CREATE'] } : {}),
          ...(method === 'POST' || method === 'PUT' ? { body: views.body } : {}),
        },
      })
}
