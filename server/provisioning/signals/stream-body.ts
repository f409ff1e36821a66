/** The configuration of a stream on the wire (SSF 1.0 §8.1.1), and the schemas of what receivers send. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { supportedEvents } from './event-types.ts'

export const pushMethod = 'urn:ietf:rfc:8935'
export const pollMethod = 'urn:ietf:rfc:8936'

export const signalPaths = {
  configuration_endpoint: '/ssf/stream',
  status_endpoint: '/ssf/status',
  add_subject_endpoint: '/ssf/subjects/add',
  remove_subject_endpoint: '/ssf/subjects/remove',
  verification_endpoint: '/ssf/verify',
} as const

export const pollPath = '/ssf/poll'

export interface StreamBody {
  readonly stream_id?: string
  readonly delivery?: { readonly method: string; readonly endpoint_url?: string }
  readonly events_requested?: readonly string[]
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 2000 }

const objectOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: false })

/** Members that the transmitter sets may be sent back, as a receiver that updates a stream does (§8.1.1.3). */
export const streamSchema: JsonSchema = {
  title: 'ssf-stream',
  ...objectOf({
    stream_id: text,
    iss: text,
    aud: { anyOf: [text, { type: 'array', items: text }] },
    events_supported: { type: 'array', items: text },
    events_requested: { type: 'array', maxItems: 100, items: text },
    events_delivered: { type: 'array', items: text },
    delivery: objectOf(
      {
        method: { type: 'string', enum: [pushMethod, pollMethod] },
        endpoint_url: { ...text, description: 'Of a push: where events are sent, by https.' },
      },
      ['method'],
    ),
    description: text,
  }),
}

export const statusSchema = objectOf(
  {
    stream_id: text,
    status: { type: 'string', enum: ['enabled', 'paused', 'disabled'] },
    reason: text,
  },
  ['stream_id', 'status'],
)

export const subjectSchema = objectOf(
  {
    stream_id: text,
    subject: objectOf({ format: { type: 'string', enum: ['iss_sub'] }, iss: text, sub: text }, [
      'format',
      'iss',
      'sub',
    ]),
    verified: { type: 'boolean' },
  },
  ['stream_id', 'subject'],
)

export const verifySchema = objectOf({ stream_id: text, state: text }, ['stream_id'])

export const pollSchema = objectOf({
  maxEvents: { type: 'integer', minimum: 0, maximum: 1000 },
  returnImmediately: { type: 'boolean', description: 'The answer never waits for events.' },
  ack: { type: 'array', maxItems: 1000, items: text },
  setErrs: {
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: true },
    description: 'Events that the receiver refuses, by jti; they are not sent again.',
  },
})

/** Types that nothing sends are not delivered; a receiver that names none gets all. */
export const eventsIn = (requested: readonly string[] | undefined): readonly string[] =>
  requested === undefined
    ? supportedEvents
    : supportedEvents.filter((type) => requested.includes(type))

export const shownStream = ({ url }: Issuer, clientId: string, row: SignalStreamRow) => {
  const events = JSON.parse(row.events) as readonly string[]
  return {
    stream_id: row.id,
    iss: url,
    aud: clientId,
    delivery:
      row.endpoint_url === null
        ? { method: pollMethod, endpoint_url: `${url}${pollPath}` }
        : { method: pushMethod, endpoint_url: row.endpoint_url },
    events_supported: supportedEvents,
    events_requested: events,
    events_delivered: events,
  }
}
