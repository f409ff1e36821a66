/** What every request of a receiver needs: its body, the stream that it names, and the audit event of a change. */

import type { FastifyRequest } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement } from '#server/storage/contract.ts'
import { isStorable } from '#server/storage/documents/reads.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { textErrors } from '#server/storage/values.ts'
import type { Receiver, SignalRoute } from './receiver.ts'
import type { Streams } from './streams.ts'

export type SignalRequest = FastifyRequest<SignalRoute>

const ajv = createAjv()

export const reader = <T>(schema: JsonSchema): ((request: SignalRequest) => T) => {
  const check = lazyValidator(ajv, schema)
  return ({ body = {} }) => {
    const errors = [...check(body), ...textErrors(body)]
    if (errors.length > 0) throw invalid(errors)
    return body as T
  }
}

/** The query parameter `stream_id`, once or not at all. */
export const queriedStream = ({ query }: SignalRequest): string | undefined => {
  const { stream_id: id } = query as { stream_id?: unknown }
  if (id === undefined || typeof id === 'string') return id
  throw invalid([{ field: 'stream_id', code: 'type', message: 'is given more than once' }])
}

export const requiredStream = (request: SignalRequest): string => {
  const id = queriedStream(request)
  if (id !== undefined && id !== '') return id
  throw invalid([{ field: 'stream_id', code: 'required', message: 'is missing' }])
}

export const createOwnStreams = ({
  recorder,
  streams,
}: {
  readonly recorder: Recorder
  readonly streams: Streams
}) => ({
  /** The stream of another receiver is none, whatever its id is. Finding it is activity of the receiver (SSF 1.0 §8.1.1). */
  streamOf: async ({ client }: Receiver, id: string): Promise<SignalStreamRow> => {
    const stream = isStorable(id) ? await streams.byId(id) : undefined
    if (stream?.client_id !== client.id) throw new Problem('not-found', 'There is no such stream.')
    const noted = streams.noteActivity(stream)
    if (noted.length > 0) await recorder.commit(noted, [])
    return stream
  },

  /** The client manages its stream: every change of it is audited. */
  write: async (
    { issuer, client }: Receiver,
    { ip }: SignalRequest,
    type: EventType,
    detail: string,
    statements: readonly Statement[],
  ): Promise<void> => {
    const event = {
      type,
      realm: issuer.name,
      actor: client.id,
      sourceIp: ip,
      outcome: 'SUCCESS',
      resourceType: Client.resourceType,
      resourceId: client.id,
      detail,
    } as const
    await recorder.commit(statements, [event])
  },
})

export type OwnStreams = ReturnType<typeof createOwnStreams>
