/** Makes, reads, updates, replaces and deletes the configuration of a stream (SSF 1.0 §8.1.1). */

import type { FastifyReply } from 'fastify'
import { invalid, Problem } from '#schemas/problems.ts'
import { newId } from '#server/platform/ids.ts'
import { ConstraintError } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { signalsReadScope, signalsScope } from '#server/tokens/access/scopes.ts'
import { type Deliveries, polled } from './delivery.ts'
import {
  type OwnStreams,
  queriedStream,
  reader,
  requiredStream,
  type SignalRequest,
} from './own-streams.ts'
import type { Receiver, ReceiverOf } from './receiver.ts'
import {
  newStreamSchema,
  pollUrlOf,
  type StreamBody,
  shownStream,
  streamSchema,
  suppliedErrors,
} from './stream-body.ts'
import { mostStreams, type Streams } from './streams.ts'
import type { Transmitter } from './transmitter.ts'

export interface StreamRequestParts {
  readonly streams: Streams
  readonly own: OwnStreams
  readonly deliveries: Deliveries
  readonly transmitter: Pick<Transmitter, 'resume'>
  readonly receiverOf: ReceiverOf
}

const readNew = reader<StreamBody>(newStreamSchema)
const readChange = reader<StreamBody & { stream_id: string }>(streamSchema)

const json = (types: readonly string[] | undefined): string => JSON.stringify(types ?? null)

export const createStreamRequests = (parts: StreamRequestParts) => {
  const { streams, own, deliveries, transmitter, receiverOf } = parts

  const insistSupplied = ({ issuer, client }: Receiver, row: SignalStreamRow, body: StreamBody) => {
    const errors = suppliedErrors(body, shownStream(issuer, client.clientId, row))
    if (errors.length > 0) throw invalid(errors)
  }

  const make = async (receiver: Receiver, request: SignalRequest, body: StreamBody) => {
    const { issuer, client } = receiver
    const place = { realm: issuer.name, id: newId() }
    const delivery = body.delivery
      ? deliveries.read(place, body.delivery, pollUrlOf(issuer, place.id), polled)
      : polled
    const made = await streams.create(
      { realm: issuer.name, client_id: client.id },
      {
        id: place.id,
        ...delivery,
        events: json(body.events_requested),
        description: body.description ?? null,
      },
    )
    if (!made) throw new Problem('conflict', `A receiver has at most ${mostStreams} streams.`)
    insistSupplied(receiver, made.row, body)
    await own.write(receiver, request, 'ADMIN_CREATE', 'signal stream', made.statements)
    return made.row
  }

  /** Of requests at the same moment one gets the next number: the others look again, until there is none. */
  const makeOne: typeof make = async (...args) => {
    for (let tries = 1; ; tries += 1)
      try {
        return await make(...args)
      } catch (error) {
        if (!(error instanceof ConstraintError) || tries > mostStreams) throw error
      }
  }

  const create = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope])
    const row = await makeOne(receiver, request, readNew(request))
    return reply.code(201).send(shownStream(receiver.issuer, receiver.client.clientId, row))
  }

  const read = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope, signalsReadScope])
    const { issuer, client } = receiver
    const shown = (row: SignalStreamRow) => shownStream(issuer, client.clientId, row)
    const id = queriedStream(request)
    if (id === undefined) return reply.send((await streams.ofClient(client.id)).map(shown))
    return reply.send(shown(await own.streamOf(receiver, id)))
  }

  /** What PATCH leaves out stays (§8.1.1.3); what PUT leaves out is as in a new stream (§8.1.1.4). */
  const change =
    (isReplaced: boolean) =>
    async (request: SignalRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const receiver = await receiverOf(request, reply, [signalsScope])
      const body = readChange(request)
      const stream = await own.streamOf(receiver, body.stream_id)
      insistSupplied(receiver, stream, body)
      const { issuer, client } = receiver
      const { delivery, events_requested: requested, description } = body
      const url = pollUrlOf(issuer, stream.id)
      const before = isReplaced ? polled : stream
      const changed = {
        ...(delivery ? deliveries.read(stream, delivery, url, before) : isReplaced ? polled : {}),
        ...(requested || isReplaced ? { events: json(requested) } : {}),
        ...(description !== undefined || isReplaced ? { description: description ?? null } : {}),
      }
      const row = { ...stream, ...changed }
      const detail = 'signal stream'
      await own.write(receiver, request, 'ADMIN_UPDATE', detail, [streams.change(row.id, changed)])
      const isSameDelivery = (['endpoint_url', 'authorization_header'] as const).every(
        (member) => row[member] === stream[member],
      )
      if (!isSameDelivery) await transmitter.resume(row)
      return reply.send(shownStream(issuer, client.clientId, row))
    }

  const remove = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope])
    const { id } = await own.streamOf(receiver, requiredStream(request))
    await own.write(receiver, request, 'ADMIN_DELETE', 'signal stream', [streams.remove(id)])
    return reply.code(204).send()
  }

  return { create, read, update: change(false), replace: change(true), remove }
}

export type StreamRequests = ReturnType<typeof createStreamRequests>
