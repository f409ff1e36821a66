/** The API description of the self-service endpoints, and the validation of their bodies by the same schemas. */

import type { FastifyRequest } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { invalid } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { CallerKind } from '#server/http/caller.ts'
import { textErrors } from '#server/storage/values.ts'

const ajv = createAjv()

/** The largest body, unless a route says otherwise. */
const bodyLimit = 32 * 1024

/** An object that refuses unknown fields; all are required unless told. */
export const objectOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: false })

/** Throws a 400 that names the fields; no body is an empty one. */
export const bodyReader = <T>(schema: JsonSchema): ((request: FastifyRequest) => T) => {
  const check = lazyValidator(ajv, schema)
  return ({ body = {} }) => {
    const errors = [...check(body), ...textErrors(body)]
    if (errors.length > 0) throw invalid(errors)
    return body as T
  }
}

const problem: JsonSchema = {
  title: 'account-problem',
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    requestId: { type: 'string' },
  },
  required: ['type', 'title', 'status', 'code'],
}

const refusals: Readonly<Record<number, string>> = {
  400: 'A field is missing or wrong.',
  401: 'There is no session, or the token is not accepted; see WWW-Authenticate.',
  403: 'The CSRF token or the scope is missing, or the sign-in is not strong enough for this.',
  404: 'There is no such realm, or no such thing.',
  409: 'It was done already, or it cannot be done here.',
  410: 'It came too late.',
  503: 'Too many sign in at once.',
}

export interface Description {
  readonly operationId: string
  readonly summary: string
  readonly body?: JsonSchema
  /** Of a page's form instead of JSON. */
  readonly form?: boolean
  readonly replies: Readonly<Record<number, object>>
  readonly refusals: readonly number[]
  readonly events?: readonly EventType[]
  /** Allowed callers; public unless given. */
  readonly callers?: readonly CallerKind[]
}

/** Options of a route that describe it. */
export const describe = ({
  operationId,
  summary,
  body,
  form,
  replies,
  refusals: statuses,
  events = [],
  callers,
}: Description) => ({
  bodyLimit,
  schema: {
    operationId,
    summary,
    tags: ['account'],
    response: {
      ...replies,
      ...Object.fromEntries(
        statuses.map((status) => [
          status,
          {
            description: refusals[status] ?? 'Refused.',
            content: { 'application/problem+json': { schema: problem } },
          },
        ]),
      ),
    },
  },
  config: {
    events,
    ...(callers ? { callers } : {}),
    ...(body ? { body } : {}),
    ...(body && !form ? { bodyTypes: ['application/json'] } : {}),
  },
})
