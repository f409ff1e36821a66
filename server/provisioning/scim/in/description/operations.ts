/** The operations of SCIM in the API description. Bodies and parameters are checked by the handlers themselves. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { mediaType } from '../errors.ts'
import type { ResourceType } from '../schema/attribute.ts'
import {
  listQuery,
  listSchema,
  patchBody,
  refusalSchema,
  resourceSchema,
  type SearchedBy,
  searchBody,
  searchedBy,
  shownQuery,
} from './json-schemas.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly replies: Readonly<Record<number, JsonSchema | null>>
  readonly body?: JsonSchema
  readonly query?: JsonSchema
  readonly events?: readonly EventType[]
  readonly refusals: readonly number[]
  /** Whether it is answered without a token too. */
  readonly isPublic?: boolean
}

const words: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created.',
  204: 'Done.',
  304: 'The version that the sender knows.',
  400: 'The request is not valid.',
  401: 'There is no good token.',
  403: 'The token is not for this, or it is denied.',
  404: 'There is no such resource, or no SCIM here.',
  409: 'The name is taken, or the resource was changed at the same moment.',
  412: 'The resource has changed since it was read.',
  413: 'The body is too large.',
  415: 'The body has another type.',
  429: 'Too many wrong tokens.',
  500: 'The server failed.',
  503: 'The server cannot do this now.',
}

/** Of any request. */
const always = [400, 401, 403, 404, 429, 500, 503]
const writing = [409, 412, 413, 415]

const reply = (status: number | string, schema: JsonSchema | null) => ({
  description: words[Number(status)] ?? '',
  ...(schema === null ? { type: 'null' } : { content: { [mediaType]: { schema } } }),
})

/** Options of a route that describe it. */
export const describeScim = ({ operationId, summary, replies, refusals, ...more }: Operation) => ({
  schema: {
    operationId,
    summary,
    tags: ['scim'],
    response: Object.fromEntries([
      ...Object.entries(replies).map(([status, schema]) => [status, reply(status, schema)]),
      ...[...always, ...refusals].map((status) => [status, reply(status, refusalSchema)]),
    ]),
  },
  config: {
    events: more.events ?? [],
    ...(more.isPublic ? { callers: [] } : {}),
    ...(more.query ? { query: more.query } : {}),
    ...(more.body ? { body: more.body, bodyTypes: [mediaType, 'application/json'] } : {}),
  },
})

/** Of a list of any resources, by POST. */
export const describeSearch = (
  name: string,
  summary: string,
  replied: JsonSchema,
  by: SearchedBy,
) =>
  describeScim({
    operationId: `scim-search-${name}`,
    summary,
    replies: { 200: replied },
    body: searchBody(name, by),
    refusals: [413, 415],
  })

export const describeResources = (type: ResourceType) => {
  const noun = type.name.toLowerCase()
  const resource = resourceSchema(type)
  const list = listSchema(resource, noun)
  const by = searchedBy(type)
  const changed = { query: shownQuery, refusals: writing }
  return {
    list: describeScim({
      operationId: `scim-list-${noun}s`,
      summary: `${type.name}s of the realm (RFC 7644 §3.4.2)`,
      replies: { 200: list },
      query: listQuery(by),
      refusals: [],
    }),
    search: describeSearch(
      `${noun}s`,
      `${type.name}s of the realm, by POST (RFC 7644 §3.4.3)`,
      list,
      by,
    ),
    create: describeScim({
      operationId: `scim-create-${noun}`,
      summary: `Makes a ${noun} (RFC 7644 §3.3)`,
      replies: { 201: resource },
      body: resource,
      events: ['ADMIN_CREATE'],
      ...changed,
    }),
    read: describeScim({
      operationId: `scim-read-${noun}`,
      summary: `A ${noun} (RFC 7644 §3.4.1)`,
      replies: { 200: resource, 304: null },
      query: shownQuery,
      refusals: [],
    }),
    replace: describeScim({
      operationId: `scim-replace-${noun}`,
      summary: `Replaces a ${noun} (RFC 7644 §3.5.1)`,
      replies: { 200: resource },
      body: resource,
      events: ['ADMIN_UPDATE'],
      ...changed,
    }),
    change: describeScim({
      operationId: `scim-change-${noun}`,
      summary: `Changes parts of a ${noun} (RFC 7644 §3.5.2)`,
      replies: { 200: resource, 204: null },
      body: patchBody,
      events: ['ADMIN_UPDATE'],
      ...changed,
    }),
    remove: describeScim({
      operationId: `scim-delete-${noun}`,
      summary: `Deletes a ${noun} (RFC 7644 §3.6)`,
      replies: { 204: null },
      events: ['ADMIN_DELETE'],
      refusals: [409, 412],
    }),
  }
}
