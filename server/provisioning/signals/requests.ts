/** What receivers ask of the transmitter (SSF 1.0 §7, §8), and what they fetch and acknowledge (RFC 8936). */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { formats } from '#schemas/text/formats.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { newId } from '#server/platform/ids.ts'
import { ConstraintError, type Statement } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { textErrors } from '#server/storage/values.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { verification } from './event-types.ts'
import type { SignSet } from './push.ts'
import type { Receiver, ReceiverOf, SignalRoute } from './receiver.ts'
import {
  eventsIn,
  pollMethod,
  pollSchema,
  pushMethod,
  type StreamBody,
  shownStream,
  signalPaths,
  statusSchema,
  streamSchema,
  subjectSchema,
  verifySchema,
} from './stream-body.ts'
import type { Streams } from './streams.ts'
import { signalQueue, type Transmitter } from './transmitter.ts'

export interface SignalRequestParts {
  readonly recorder: Recorder
  readonly issuers: Issuers
  readonly streams: Streams
  readonly transmitter: Pick<Transmitter, 'queue'>
  readonly jobs: Pick<Jobs, 'wake'>
  readonly receiverOf: ReceiverOf
  readonly signSet: SignSet
}

type Request = FastifyRequest<SignalRoute>

const ajv = createAjv()
const usualEvents = 100

const reader = <T>(schema: JsonSchema): ((request: Request) => T) => {
  const check = lazyValidator(ajv, schema)
  return ({ body = {} }) => {
    const errors = [...check(body), ...textErrors(body)]
    if (errors.length > 0) throw invalid(errors)
    return body as T
  }
}

const readStream = reader<StreamBody>(streamSchema)
const readStatus = reader<{ stream_id: string; status: SignalStreamRow['status'] }>(statusSchema)
const readSubject = reader<{ stream_id: string; subject: { iss: string; sub: string } }>(
  subjectSchema,
)
const readVerify = reader<{ stream_id: string; state?: string }>(verifySchema)
const readPoll = reader<{
  maxEvents?: number
  ack?: readonly string[]
  setErrs?: Readonly<Record<string, unknown>>
}>(pollSchema)

/** Where events are pushed to; null where the receiver fetches them. */
const endpointIn = (delivery: StreamBody['delivery'], before: string | null): string | null => {
  if (delivery === undefined) return before
  if (delivery.method === pollMethod) return null
  const url = delivery.endpoint_url ?? ''
  if (formats['https-url']?.test(url) === true) return url
  const message = formats['https-url']?.message ?? 'must be an https URL'
  throw invalid([{ field: '/delivery/endpoint_url', code: 'format', message }])
}

export const createSignalRequests = (parts: SignalRequestParts) => {
  const { recorder, issuers, streams, transmitter, jobs, receiverOf, signSet } = parts

  /** The client manages its stream: every change of it is audited. */
  const write = async (
    { issuer, client }: Receiver,
    { ip }: Request,
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
  }

  /** The stream of the receiver: another one's is none, whatever its id is. */
  const streamOf = async ({ client }: Receiver, id?: string): Promise<SignalStreamRow> => {
    const stream = await streams.ofClient(client.id)
    if (!stream || (id !== undefined && stream.id !== id))
      throw new Problem('not-found', 'There is no such stream.')
    return stream
  }

  const queried = ({ query }: Request): string | undefined => {
    const { stream_id: id } = query as { stream_id?: unknown }
    return typeof id === 'string' ? id : undefined
  }

  const create = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const { issuer, client } = receiver
    const body = readStream(request)
    const { row, statements } = streams.create({
      realm: issuer.name,
      client_id: client.id,
      endpoint_url: endpointIn(body.delivery, null),
      events: JSON.stringify(eventsIn(body.events_requested)),
      status: 'enabled',
    })
    try {
      await write(receiver, request, 'ADMIN_CREATE', 'signal stream', statements)
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error
      throw new Problem('conflict', 'The receiver has a stream already.')
    }
    return reply.code(201).send(shownStream(issuer, client.clientId, row))
  }

  const read = async (request: Request, reply: FastifyReply) => {
    const { issuer, client } = await receiverOf(request, reply)
    const id = queried(request)
    if (id === undefined) {
      const stream = await streams.ofClient(client.id)
      return reply.send(stream ? [shownStream(issuer, client.clientId, stream)] : [])
    }
    return reply.send(shownStream(issuer, client.clientId, await streamOf({ issuer, client }, id)))
  }

  const change = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const body = readStream(request)
    const stream = await streamOf(receiver, body.stream_id ?? '')
    const changed = {
      endpoint_url: endpointIn(body.delivery, stream.endpoint_url),
      events:
        body.events_requested === undefined
          ? stream.events
          : JSON.stringify(eventsIn(body.events_requested)),
    }
    const statement = streams.change(stream.id, changed)
    await write(receiver, request, 'ADMIN_UPDATE', 'signal stream', [statement])
    const { issuer, client } = receiver
    return reply.send(shownStream(issuer, client.clientId, { ...stream, ...changed }))
  }

  const remove = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const stream = await streamOf(receiver, queried(request))
    await write(receiver, request, 'ADMIN_DELETE', 'signal stream', [streams.remove(stream.id)])
    return reply.code(204).send()
  }

  const readStatusOf = async (request: Request, reply: FastifyReply) => {
    const { id, status } = await streamOf(await receiverOf(request, reply), queried(request) ?? '')
    return reply.send({ stream_id: id, status })
  }

  const changeStatus = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const { stream_id, status } = readStatus(request)
    const stream = await streamOf(receiver, stream_id)
    const statement = streams.change(stream.id, { status })
    await write(receiver, request, 'ADMIN_UPDATE', `signal stream ${status}`, [statement])
    jobs.wake(signalQueue)
    return reply.send({ stream_id, status })
  }

  /** A subject that no user has is taken too: the answer tells nothing about users (§8.1.3.2). */
  const changeSubject =
    (isAdded: boolean) =>
    async (request: Request, reply: FastifyReply): Promise<FastifyReply> => {
      const receiver = await receiverOf(request, reply)
      const { stream_id, subject } = readSubject(request)
      const { id } = await streamOf(receiver, stream_id)
      if (subject.iss !== receiver.issuer.url)
        throw invalid([
          { field: '/subject/iss', code: 'const', message: `must be ${receiver.issuer.url}` },
        ])
      const statement = isAdded
        ? streams.addSubject(id, subject.sub)
        : streams.removeSubject(id, subject.sub)
      const detail = isAdded ? 'signal subject added' : 'signal subject removed'
      await write(receiver, request, 'ADMIN_UPDATE', detail, [statement])
      return isAdded ? reply.code(200).send({}) : reply.code(204).send()
    }

  const verify = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const { stream_id, state } = readVerify(request)
    const stream = await streamOf(receiver, stream_id)
    const statements = transmitter.queue(receiver.issuer, stream, newId(), {
      aud: receiver.client.clientId,
      sub_id: { format: 'opaque', id: stream.id },
      events: { [verification]: state === undefined ? {} : { state } },
    })
    await recorder.append(statements, [])
    jobs.wake(signalQueue)
    return reply.code(204).send()
  }

  const poll = async (request: Request, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply)
    const { maxEvents = usualEvents, ack = [], setErrs = {} } = readPoll(request)
    const stream = await streamOf(receiver)
    if (stream.endpoint_url !== null)
      throw new Problem('conflict', 'The events of this stream are pushed.')
    const settled = [...ack, ...Object.keys(setErrs)]
    await recorder.append(streams.acknowledge(stream.id, settled), [])
    const rows = stream.status === 'enabled' ? await streams.waiting(stream.id, maxEvents + 1) : []
    const sets: Record<string, string> = {}
    for (const row of rows.slice(0, maxEvents)) {
      const set = await signSet(receiver.issuer, stream, row)
      if (set !== undefined) sets[row.id] = set
    }
    return reply.send({ sets, ...(rows.length > maxEvents ? { moreAvailable: true } : {}) })
  }

  const configuration = async (request: Request, reply: FastifyReply) => {
    const issuer = await issuers.known(request.params.realm)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    const { url } = issuer
    return reply.header('cache-control', 'public, max-age=300').send({
      spec_version: '1_0',
      issuer: url,
      jwks_uri: `${url}/.well-known/jwks.json`,
      delivery_methods_supported: [pushMethod, pollMethod],
      ...Object.fromEntries(
        Object.entries(signalPaths).map(([member, path]) => [member, `${url}${path}`]),
      ),
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'NONE',
    })
  }

  return {
    configuration,
    create,
    read,
    change,
    remove,
    readStatusOf,
    changeStatus,
    addSubject: changeSubject(true),
    removeSubject: changeSubject(false),
    verify,
    poll,
  }
}

export type SignalRequests = ReturnType<typeof createSignalRequests>
