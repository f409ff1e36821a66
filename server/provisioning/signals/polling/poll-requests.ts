/** What a receiver fetches and acknowledges (RFC 8936). */

import type { FastifyReply } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { SignalEventRow, SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { signalsScope } from '#server/tokens/access/scopes.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { type OwnStreams, reader, type SignalRequest } from '../own-streams.ts'
import type { SignSet } from '../push.ts'
import type { ReceiverOf } from '../receiver.ts'
import type { TellRefused } from '../refused-events.ts'
import { pollSchema } from '../stream-body.ts'
import type { Streams } from '../streams.ts'
import type { Polls } from './polls.ts'

export interface PollRequestParts {
  readonly recorder: Pick<Recorder, 'append'>
  readonly streams: Streams
  readonly own: OwnStreams
  readonly polls: Polls
  readonly receiverOf: ReceiverOf
  readonly signSet: SignSet
  readonly tellRefused: TellRefused
}

/** Below what proxies and clients wait for an answer. */
const longestWaitMs = 10_000
const usualEvents = 100
/** Of one answer, whatever the receiver would take: `maxEvents` is an upper bound (RFC 8936 §2.2). */
const mostEvents = 1000

const readPoll = reader<{
  maxEvents?: number
  returnImmediately?: boolean
  ack?: readonly string[]
  setErrs?: Readonly<Record<string, unknown>>
}>(pollSchema)

/** Aborted when the receiver has hung up. */
const hangUpOf = ({ raw }: FastifyReply): AbortSignal => {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return gone.signal
}

export const createPollRequest = (parts: PollRequestParts) => {
  const { recorder, streams, own, polls, receiverOf, signSet, tellRefused } = parts

  /** The events that there are, or those that come within the time; none where the stream is gone. */
  const awaited = async (
    { id, realm }: SignalStreamRow,
    most: number,
    gone: AbortSignal,
  ): Promise<readonly SignalEventRow[]> => {
    const waiting = polls.begin({ id, realm }, gone)
    const end = Date.now() + longestWaitMs
    try {
      for (;;) {
        const stream = await streams.byId(id)
        const rows = stream ? await streams.waiting(stream, most) : []
        const left = end - Date.now()
        if (rows.length > 0 || !stream || left <= 0 || gone.aborted || polls.isClosed()) return rows
        await waiting.rest(left)
      }
    } finally {
      waiting.end()
    }
  }

  const signed = async (
    issuer: Issuer,
    stream: SignalStreamRow,
    rows: readonly SignalEventRow[],
  ): Promise<Record<string, string>> => {
    const sets: Record<string, string> = {}
    for (const row of rows) {
      const set = await signSet(issuer, stream, row)
      if (set !== undefined) sets[row.id] = set
    }
    return sets
  }

  return async (request: SignalRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const receiver = await receiverOf(request, reply, [signalsScope])
    const body = readPoll(request)
    const { returnImmediately = false, ack = [], setErrs = {} } = body
    const maxEvents = Math.min(body.maxEvents ?? usualEvents, mostEvents)
    const stream = await own.streamOf(receiver, request.params.streamId)
    if (stream.endpoint_url !== null)
      throw new Problem('conflict', 'The events of this stream are pushed.')
    const settled = [...ack, ...Object.keys(setErrs)]
    if (settled.length > 0) await recorder.append(streams.acknowledge(stream.id, settled), [])
    tellRefused(stream, setErrs)
    // A request for no events acknowledges alone (RFC 8936 §2.4): it has nothing to wait for.
    if (maxEvents === 0) return reply.send({ sets: {} })
    const there = await streams.waiting(stream, maxEvents + 1)
    const isAnswered = there.length > 0 || returnImmediately
    const rows = isAnswered ? there : await awaited(stream, maxEvents + 1, hangUpOf(reply))
    // The token and the client may have been revoked meanwhile.
    const { issuer } = isAnswered ? receiver : await receiverOf(request, reply, [signalsScope])
    const sets = await signed(issuer, stream, rows.slice(0, maxEvents))
    return reply.send({ sets, ...(rows.length > maxEvents ? { moreAvailable: true } : {}) })
  }
}

export type PollRequest = ReturnType<typeof createPollRequest>
