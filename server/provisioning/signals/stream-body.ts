/** The configuration of a stream on the wire (SSF 1.0 §8.1.1), and the schemas of what receivers send. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { supportedEvents } from './event-types.ts'
import { subjectFormats } from './subjects.ts'

export const pushMethod = 'urn:ietf:rfc:8935'
export const pollMethod = 'urn:ietf:rfc:8936'

export const signalPaths = {
  configuration_endpoint: '/ssf/stream',
  status_endpoint: '/ssf/status',
  add_subject_endpoint: '/ssf/subjects/add',
  remove_subject_endpoint: '/ssf/subjects/remove',
  verification_endpoint: '/ssf/verify',
} as const

const pollPath = '/ssf/poll'
export const pollRoute = `${pollPath}/:streamId`

/** Seconds between two verification events of a stream (§8.1.1). */
export const verificationInterval = 10
/** Seconds without a request about a stream that is polled, after which it is paused (§8.1.1). */
export const inactivityTimeout = 30 * 24 * 3600

export interface DeliveryBody {
  readonly method: string
  readonly endpoint_url?: string
  readonly authorization_header?: string
}

export interface StreamBody {
  readonly stream_id?: string
  readonly iss?: string
  readonly aud?: string | readonly string[]
  readonly events_supported?: readonly string[]
  readonly events_requested?: readonly string[]
  readonly events_delivered?: readonly string[]
  readonly delivery?: DeliveryBody
  readonly description?: string
  readonly min_verification_interval?: number
  readonly inactivity_timeout?: number
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: 2000 }
const whole: JsonSchema = { type: 'integer', minimum: 0 }
const texts: JsonSchema = { type: 'array', maxItems: 100, items: text }

const objectOf = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: false })

/** Members that the transmitter sets may be sent back, as a receiver that updates a stream does (§8.1.1.3). */
const members: Readonly<Record<string, JsonSchema>> = {
  iss: text,
  aud: { anyOf: [text, texts] },
  events_supported: texts,
  events_requested: texts,
  events_delivered: texts,
  delivery: objectOf(
    {
      method: { type: 'string', enum: [pushMethod, pollMethod] },
      endpoint_url: { ...text, description: 'Of a push: where events are sent, by https.' },
      authorization_header: {
        type: 'string',
        maxLength: 2000,
        // One value of a header field (RFC 9110 §5.5): no line break, no blank at either end.
        pattern: '^[!-~]([ -~]*[!-~])?$',
        description: 'Of a push: the value of its header Authorization. It is never shown.',
      },
    },
    ['method'],
  ),
  description: text,
  min_verification_interval: whole,
  inactivity_timeout: whole,
}

export const newStreamSchema: JsonSchema = { title: 'new-ssf-stream', ...objectOf(members) }
export const streamSchema: JsonSchema = {
  title: 'ssf-stream',
  ...objectOf({ stream_id: text, ...members }, ['stream_id']),
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
    subject: objectOf(
      {
        format: { type: 'string', enum: subjectFormats },
        iss: { ...text, description: 'Of iss_sub: the issuer of the realm.' },
        sub: { ...text, description: 'Of iss_sub: the user as the client knows them.' },
        email: { ...text, description: 'Of email: a verified address of the user.' },
      },
      ['format'],
    ),
    verified: { type: 'boolean' },
  },
  ['stream_id', 'subject'],
)

export const verifySchema = objectOf({ stream_id: text, state: text }, ['stream_id'])

export const pollSchema = objectOf({
  maxEvents: { ...whole, description: 'At most so many events; an answer has at most 1000.' },
  returnImmediately: {
    type: 'boolean',
    description: 'Whether the answer comes at once although there are no events.',
  },
  ack: { type: 'array', maxItems: 1000, items: text },
  setErrs: {
    type: 'object',
    maxProperties: 1000,
    additionalProperties: { type: 'object', additionalProperties: true },
    description: 'Events that the receiver refuses, by jti; they are not sent again.',
  },
})

/** What the receiver asked for; undefined where it named no types. */
const requestedOf = ({ events }: Pick<SignalStreamRow, 'events'>): readonly string[] | undefined =>
  (JSON.parse(events) as readonly string[] | null) ?? undefined

/** Types that nothing sends are not delivered; a receiver that names none gets all. */
export const deliveredOf = (row: Pick<SignalStreamRow, 'events'>): readonly string[] => {
  const requested = requestedOf(row)
  return requested ? supportedEvents.filter((type) => requested.includes(type)) : supportedEvents
}

/** Another one for each stream of a receiver (§6.1.2). */
export const pollUrlOf = ({ url }: Pick<Issuer, 'url'>, streamId: string): string =>
  `${url}${pollPath}/${streamId}`

/** `authorization_header` is a secret of the receiver and is not shown. */
export const shownStream = (issuer: Issuer, clientId: string, row: SignalStreamRow) => {
  const requested = requestedOf(row)
  const isPolled = row.endpoint_url === null
  return {
    stream_id: row.id,
    iss: issuer.url,
    aud: clientId,
    delivery: isPolled
      ? { method: pollMethod, endpoint_url: pollUrlOf(issuer, row.id) }
      : { method: pushMethod, endpoint_url: row.endpoint_url },
    events_supported: supportedEvents,
    ...(requested ? { events_requested: requested } : {}),
    events_delivered: deliveredOf(row),
    min_verification_interval: verificationInterval,
    ...(isPolled ? { inactivity_timeout: inactivityTimeout } : {}),
    ...(row.description === null ? {} : { description: row.description }),
  }
}

const setByTransmitter = [
  'iss',
  'aud',
  'events_supported',
  'events_delivered',
  'min_verification_interval',
  'inactivity_timeout',
] as const

const asSet = (value: unknown): string => JSON.stringify([value].flat().map(String).toSorted())

/** Members that the transmitter sets must be what they are, before the change (§8.1.1.3, §8.1.1.4). */
export const suppliedErrors = (
  body: StreamBody,
  shown: ReturnType<typeof shownStream>,
): readonly FieldError[] =>
  setByTransmitter
    .filter((name) => body[name] !== undefined && asSet(body[name]) !== asSet(shown[name]))
    .map((name) => ({
      field: `/${name}`,
      code: 'const',
      message: 'is set by the transmitter: leave it out, or send it back as it is',
    }))
