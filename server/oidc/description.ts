/** Shared parts of the API description of protocol endpoints. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { CallerKind } from '#server/http/caller.ts'
import { assertionType, errorCodes } from './vocabulary.ts'

const errorSchema: JsonSchema = {
  title: 'oauth-error',
  type: 'object',
  properties: {
    error: { type: 'string', enum: errorCodes },
    error_description: { type: 'string' },
    ticket: { type: 'string', description: 'To ask again with (UMA 2.0 Grant §3.3.6).' },
    interval: { type: 'integer', description: 'Seconds to wait before that.' },
    verification_uri: {
      type: 'string',
      format: 'uri',
      description: 'Where the user confirms a high-risk scope.',
    },
    expires_in: { type: 'integer', description: 'Seconds until that address is gone.' },
    required_claims: {
      type: 'array',
      description: 'Claims to bring along then.',
      items: { type: 'object', additionalProperties: true },
    },
  },
  required: ['error'],
  additionalProperties: false,
}

const failures: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The client, or the token, is not accepted.',
  403: 'The token is not enough for this, or it is denied.',
  404: 'There is no such realm.',
  409: 'The name is taken, or something refers to it.',
  413: 'The request is too long.',
  429: 'Too many requests.',
  500: 'The server failed.',
  503: 'The server cannot do this now.',
}

/** Error replies for these statuses, in the shape of RFC 6749 §5.2. */
export const refusals = (...statuses: readonly number[]): Record<number, JsonSchema> =>
  Object.fromEntries(
    [...statuses, 404, 500, 503].map((status) => [
      status,
      { description: failures[status] ?? 'Refused.', ...errorSchema },
    ]),
  )

export interface Description {
  readonly operationId: string
  readonly summary: string
  readonly replies: Readonly<Record<number, JsonSchema>>
  /** Parameters of the form, by what they mean. */
  readonly form?: Readonly<Record<string, string>>
  readonly required?: readonly string[]
  /** Of a body that is JSON instead of a form. */
  readonly json?: JsonSchema
  readonly callers?: readonly CallerKind[]
  readonly events?: readonly EventType[]
}

/** Options of a route that describe it; bodies are checked by the handlers themselves. */
export const describe = ({
  operationId,
  summary,
  replies,
  form,
  required = [],
  json,
  callers,
  events = [],
}: Description) => ({
  schema: { operationId, summary, tags: ['protocol'], response: replies },
  config: {
    events,
    ...(callers ? { callers } : {}),
    ...(json ? { body: json, bodyTypes: ['application/json'] } : {}),
    ...(form
      ? {
          body: {
            type: 'object',
            properties: Object.fromEntries(
              Object.entries(form).map(([name, description]) => [
                name,
                { type: 'string', description },
              ]),
            ),
            required,
          },
        }
      : {}),
  },
})

/** The parameters by which a client says who it is. */
export const clientParameters = {
  client_id: 'The client, unless the Authorization header names it.',
  client_secret: 'Its secret, unless the Authorization header has it.',
  client_assertion: 'Client assertion (RFC 7523).',
  client_assertion_type: assertionType,
}
