/** The API description of client registration. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { refusals } from './errors.ts'

const clientSchema = {
  type: 'object',
  properties: {
    client_id: { type: 'string' },
    client_secret: { type: 'string' },
    registration_access_token: { type: 'string' },
    registration_client_uri: { type: 'string', format: 'uri' },
  },
  required: ['client_id', 'registration_access_token', 'registration_client_uri'],
  additionalProperties: true,
} as const

const metadataBody = {
  type: 'object',
  properties: {
    client_name: { type: 'string' },
    redirect_uris: { type: 'array', items: { type: 'string', format: 'uri' } },
    grant_types: { type: 'array', items: { type: 'string' } },
  },
  minProperties: 1,
  additionalProperties: true,
} as const

const described = (
  operationId: string,
  summary: string,
  success: Readonly<Record<number, JsonSchema>>,
  events: readonly EventType[] = [],
  body?: JsonSchema,
) => ({
  schema: {
    operationId,
    summary,
    tags: ['protocol'],
    response: { ...success, ...refusals },
  },
  config: { events, ...(body ? { body, bodyTypes: ['application/json'] } : {}) },
})

const client = { description: 'The client as it is registered.', ...clientSchema }

export const describeRegister = described(
  'register-client',
  'Registers a client (RFC 7591)',
  { 201: client },
  ['CLIENT_REGISTER'],
  metadataBody,
)

export const describeManaged = {
  read: described('read-registered-client', 'The client, for itself (RFC 7592)', { 200: client }),
  update: described(
    'update-registered-client',
    'Replaces the metadata of the client, and its registration access token (RFC 7592)',
    { 200: client },
    ['CLIENT_UPDATE'],
    metadataBody,
  ),
  remove: described(
    'delete-registered-client',
    'Deletes the client with all its tokens (RFC 7592)',
    { 204: { description: 'The client is deleted.', type: 'null' } },
    ['CLIENT_DELETE'],
  ),
}
