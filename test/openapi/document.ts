/** The description as a client reads it: fetched, resolved, and flattened to operations. */

import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import type { RoutePermission } from '#server/http/caller.ts'
import type { TestServer } from '../support/server.ts'

interface Media {
  readonly schema: JsonSchema
}

export interface DocumentedReply {
  readonly description: string
  readonly content?: Readonly<Record<string, Media>>
}

export interface Operation {
  readonly method: string
  /** `/admin/realms/{realm}/users` */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: JsonSchema
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, Media>>
  }
  readonly responses: Readonly<Record<string, DocumentedReply>>
  readonly 'x-permission'?: RoutePermission
  readonly 'x-resource-type'?: string
  /** The kind whose documents a declared route serves. */
  readonly 'x-kind'?: string
  /** The route is of the whole server and takes a session of `master`. */
  readonly 'x-of-server'?: true
  /** In bytes, where a body may be larger than others. */
  readonly 'x-body-limit'?: number
  readonly 'x-audit-events'?: readonly string[]
}

type Described = Omit<Operation, 'method' | 'path'>

export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export const readDocument = async (server: TestServer): Promise<ApiDocument> =>
  (await server.anonymous.send('GET', '/v3/api-docs')).body

/** Replaces references by what they name, each by the same object wherever it stands. */
const createResolve = (document: ApiDocument) => {
  const known = new Map<string, unknown>()
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (!isObject(value)) return value
    const { $ref } = value
    if (typeof $ref !== 'string')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolve(one)]))
    if (!known.has($ref)) known.set($ref, resolve(named(document, $ref)))
    return known.get($ref)
  }
  return resolve
}

/** What a reference such as `#/components/schemas/role` names. */
const named = (document: ApiDocument, ref: string): unknown => {
  let place: unknown = document
  for (const segment of ref.split('/').slice(1))
    place = isObject(place) ? place[segment] : undefined
  if (place === undefined) throw new Error(`${ref} names nothing`)
  return place
}

/** With every reference replaced by what it names. */
export const operationsIn = (document: ApiDocument): Operation[] => {
  const resolve = createResolve(document)
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      ...(resolve(described) as Described),
      method: method.toUpperCase(),
      path,
    })),
  )
}
