/** The API description of transactions, and their bodies. */

import { signatureSchema } from '#server/credentials/devices/device-keys.ts'
import { describe, objectOf } from '../description.ts'

/** In seconds. */
export const usualTtl = 300

const types = ['signing', 'consent'] as const

export interface NewTransactionBody {
  readonly type: (typeof types)[number]
  readonly payload: string
  readonly displayText: string
  readonly userId?: string
  readonly ttl?: number
}

export interface SignBody {
  readonly credentialId: string
  readonly signature?: string
  readonly assertion?: object
}

export const createBody = objectOf(
  {
    type: { type: 'string', enum: types },
    payload: {
      type: 'string',
      description: 'The signed content, byte for byte.',
      minLength: 1,
      maxLength: 8192,
    },
    displayText: {
      type: 'string',
      description: 'The text that the user is shown; it is signed too.',
      minLength: 1,
      maxLength: 2000,
    },
    userId: {
      type: 'string',
      description: 'User who signs; required for a token of a client (client_credentials).',
      minLength: 1,
      maxLength: 255,
    },
    ttl: { type: 'integer', minimum: 30, maximum: 3600, description: 'In seconds.' },
  },
  ['type', 'payload', 'displayText'],
)

export const signBody = objectOf(
  {
    credentialId: { type: 'string', minLength: 1, maxLength: 255 },
    signature: {
      ...signatureSchema,
      description: 'By the key of a device, of the 32 bytes of the hash; base64url.',
    },
    assertion: {
      type: 'object',
      description: 'Of a passkey (WebAuthn), with the hash as challenge.',
    },
  },
  ['credentialId'],
)

const time = { type: 'integer', description: 'Milliseconds since 1970.' }
const short = {
  id: { type: 'string', format: 'uuid' },
  status: { type: 'string', enum: ['PENDING', 'SIGNED', 'CONSUMED', 'EXPIRED'] },
  hash: {
    type: 'string',
    description:
      'The value to sign: SHA-256 over the transaction (docs/decisions/transactions.md), base64url.',
  },
  expiresAt: time,
}
const record = objectOf({
  ...short,
  type: { type: 'string', enum: types },
  payload: { type: 'string' },
  displayText: { type: 'string' },
  userId: { type: 'string' },
  clientId: { type: 'string', description: 'The client that made it.' },
  credentialId: { type: ['string', 'null'] },
  createdAt: time,
})

export const describeCreate = describe({
  callers: ['token'],
  operationId: 'create-transaction',
  summary: 'Asks a user to sign something exactly as it is',
  body: createBody,
  replies: { 201: objectOf(short) },
  refusals: [400, 401, 403, 404],
  events: ['CREATE_TRANSACTION'],
})
export const describeRead = describe({
  callers: ['token'],
  operationId: 'read-transaction',
  summary: 'A transaction, for its user and for the client that made it',
  replies: { 200: record },
  refusals: [401, 403, 404],
})
export const describeSign = describe({
  callers: ['token'],
  operationId: 'sign-transaction',
  summary:
    'Signs it with a key of the user: the signature of a device, or the assertion of a passkey',
  body: signBody,
  replies: { 200: objectOf(short) },
  refusals: [400, 401, 403, 404, 409, 410],
  events: ['SIGN_TRANSACTION'],
})
export const describeConsume = describe({
  callers: ['token'],
  operationId: 'consume-transaction',
  summary: 'Uses the signature, once; by the client that made the transaction',
  replies: { 200: objectOf(short) },
  refusals: [401, 403, 404, 409, 410],
  events: ['CONSUME_TRANSACTION'],
})
