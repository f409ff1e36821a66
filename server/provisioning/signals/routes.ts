/** The routes of the transmitter of security events (SSF 1.0 §7, §8; RFC 8936), with their descriptions. */

import type { FastifyInstance } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import { problemReply } from '#server/http/problem-schema.ts'
import { urlOf } from '../endpoint.ts'
import type { PollRequest } from './polling/poll-requests.ts'
import type { SignalRoute } from './receiver.ts'
import type { SignalRequests } from './requests.ts'
import {
  newStreamSchema,
  pollRoute,
  pollSchema,
  signalPaths,
  statusSchema,
  streamSchema,
  subjectSchema,
  verifySchema,
} from './stream-body.ts'
import type { StreamRequests } from './stream-requests.ts'

interface Described {
  readonly summary: string
  /** 200 with an object unless told. */
  readonly status?: 200 | 201 | 204
  readonly body?: JsonSchema
  readonly event?: EventType
}

const replies: Readonly<Record<number, object>> = {
  200: { description: 'Done.' },
  201: { description: 'Made.', type: 'object', additionalProperties: true },
  204: { description: 'Done.', type: 'null' },
}

const refusals: Readonly<Record<number, object>> = {
  400: problemReply('A field is missing or wrong.'),
  401: problemReply('The access token is missing or not accepted.'),
  403: problemReply('The token or the receiver is not allowed this.'),
  404: problemReply('There is no such realm or stream.'),
  409: problemReply('The receiver has a stream already, or it was changed at the same moment.'),
  429: problemReply('Too many requests.'),
  500: problemReply('The server failed.'),
  503: problemReply('The server cannot do this now.'),
}

const schemaOf = (
  operationId: string,
  { summary, status = 200 }: Described,
  refused: Readonly<Record<number, object>> = refusals,
) => ({
  operationId,
  summary,
  tags: ['protocol'],
  response: { ...refused, [status]: replies[status] ?? {} },
})

const describe = (operationId: string, described: Described) => ({
  schema: schemaOf(operationId, described),
  config: {
    events: described.event ? [described.event] : [],
    callers: ['token'] as const,
    ...(described.body ? { body: described.body, bodyTypes: ['application/json'] } : {}),
  },
})

const wellKnown = '/.well-known/ssf-configuration'

/** Below the issuer and, as SSF 1.0 §7.2 has it, with the well-known part in front of the issuer's path. */
const places = [
  ['read-ssf-configuration', urlOf(wellKnown)],
  ['read-ssf-configuration-by-host', `${wellKnown}/realms/:realm`],
] as const

const statusPath = urlOf(signalPaths.status_endpoint)
const streamPath = urlOf(signalPaths.configuration_endpoint)

export interface SignalHandlers {
  readonly streams: StreamRequests
  readonly requests: SignalRequests
  readonly poll: PollRequest
}

export const signalRoutes = (
  app: FastifyInstance,
  { streams, requests, poll }: SignalHandlers,
): void => {
  for (const [operationId, url] of places)
    app.get<SignalRoute>(
      url,
      {
        schema: schemaOf(
          operationId,
          { summary: 'Where the realm sends security events from' },
          { 404: problemReply('There is no such realm.') },
        ),
        config: { events: [] },
      },
      requests.configuration,
    )

  app.post<SignalRoute>(
    streamPath,
    describe('create-ssf-stream', {
      summary: 'Makes a stream of the receiver',
      status: 201,
      body: newStreamSchema,
      event: 'ADMIN_CREATE',
    }),
    streams.create,
  )
  app.get<SignalRoute>(
    streamPath,
    describe('read-ssf-stream', { summary: 'A stream of the receiver, or a list of all' }),
    streams.read,
  )
  app.patch<SignalRoute>(
    streamPath,
    describe('patch-ssf-stream', {
      summary: 'Updates the stream; what is left out stays',
      body: streamSchema,
      event: 'ADMIN_UPDATE',
    }),
    streams.update,
  )
  app.put<SignalRoute>(
    streamPath,
    describe('put-ssf-stream', {
      summary: 'Replaces the configuration of the stream; what is left out is deleted',
      body: streamSchema,
      event: 'ADMIN_UPDATE',
    }),
    streams.replace,
  )
  app.delete<SignalRoute>(
    streamPath,
    describe('delete-ssf-stream', {
      summary: 'Removes the stream',
      status: 204,
      event: 'ADMIN_DELETE',
    }),
    streams.remove,
  )
  app.get<SignalRoute>(
    statusPath,
    describe('read-ssf-status', { summary: 'The status of the stream' }),
    requests.readStatusOf,
  )
  app.post<SignalRoute>(
    statusPath,
    describe('change-ssf-status', {
      summary: 'Enables, pauses or disables the stream',
      body: statusSchema,
      event: 'ADMIN_UPDATE',
    }),
    requests.changeStatus,
  )
  app.post<SignalRoute>(
    urlOf(signalPaths.add_subject_endpoint),
    describe('add-ssf-subject', {
      summary: 'Asks for the events of a user',
      body: subjectSchema,
      event: 'ADMIN_UPDATE',
    }),
    requests.addSubject,
  )
  app.post<SignalRoute>(
    urlOf(signalPaths.remove_subject_endpoint),
    describe('remove-ssf-subject', {
      summary: 'Asks for no more events of a user',
      status: 204,
      body: subjectSchema,
      event: 'ADMIN_UPDATE',
    }),
    requests.removeSubject,
  )
  app.post<SignalRoute>(
    urlOf(signalPaths.verification_endpoint),
    describe('verify-ssf-stream', {
      summary: 'Sends a verification event',
      status: 204,
      body: verifySchema,
    }),
    requests.verify,
  )
  app.post<SignalRoute>(
    urlOf(pollRoute),
    describe('poll-ssf-events', {
      summary: 'Fetches and acknowledges events, and waits for them (RFC 8936)',
      body: pollSchema,
    }),
    poll,
  )
}
