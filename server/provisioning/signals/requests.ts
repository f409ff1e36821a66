/** What receivers ask of a stream beside its configuration: its status, subjects and verification (SSF 1.0 §7, §8.1). */

import type { FastifyReply } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { newId } from '#server/platform/ids.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { signalsReadScope, signalsScope } from '#server/tokens/access/scopes.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { provisioningOf } from '../endpoint.ts'
import { verification } from './event-types.ts'
import { type OwnStreams, reader, requiredStream, type SignalRequest } from './own-streams.ts'
import type { ReceiverOf } from './receiver.ts'
import {
  pollMethod,
  pushMethod,
  signalPaths,
  statusSchema,
  subjectSchema,
  verificationInterval,
  verifySchema,
} from './stream-body.ts'
import { mostSubjects, type Streams, subjectsGuard } from './streams.ts'
import { type SubjectBody, subjectName } from './subjects.ts'
import type { Transmitter } from './transmitter.ts'

export interface SignalRequestParts {
  readonly recorder: Pick<Recorder, 'commit'>
  readonly issuers: Issuers
  readonly streams: Streams
  readonly own: OwnStreams
  readonly transmitter: Pick<Transmitter, 'queue' | 'resume'>
  readonly wake: (streamIds: Iterable<string>) => void
  readonly receiverOf: ReceiverOf
}

const readStatus = reader<{
  stream_id: string
  status: SignalStreamRow['status']
  reason?: string
}>(statusSchema)
const readSubject = reader<{ stream_id: string; subject: SubjectBody }>(subjectSchema)
const readVerify = reader<{ stream_id: string; state?: string }>(verifySchema)

const shownStatus = ({ id, status, status_reason: reason }: SignalStreamRow) => ({
  stream_id: id,
  status,
  ...(reason === null ? {} : { reason }),
})

export const createSignalRequests = (parts: SignalRequestParts) => {
  const { recorder, issuers, streams, own, transmitter, wake, receiverOf } = parts

  const readStatusOf = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope, signalsReadScope])
    return reply.send(shownStatus(await own.streamOf(receiver, requiredStream(request))))
  }

  const changeStatus = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope])
    const { stream_id, status, reason = null } = readStatus(request)
    const stream = await own.streamOf(receiver, stream_id)
    const changed = { status, status_reason: reason }
    await own.write(receiver, request, 'ADMIN_UPDATE', `signal stream ${status}`, [
      streams.change(stream.id, changed),
      status === 'disabled' ? streams.dropEvents(stream.id) : streams.dropNotices(stream.id),
    ])
    const row = { ...stream, ...changed }
    // After the change: a job that still saw the stream as paused has left its event, which is now sent.
    if (status === 'enabled') await transmitter.resume(row)
    return reply.send(shownStatus(row))
  }

  /** A subject that no user has is taken too: the answer tells nothing about users (§9.1). */
  const changeSubject =
    (isAdded: boolean) =>
    async (request: SignalRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const receiver = await receiverOf(request, reply, [signalsScope])
      const { stream_id, subject } = readSubject(request)
      const { id } = await own.streamOf(receiver, stream_id)
      const name = subjectName(receiver.issuer, subject)
      const statements = streams.putSubject(id, name, !isAdded)
      const detail = isAdded ? 'signal subject added' : 'signal subject removed'
      try {
        await own.write(receiver, request, 'ADMIN_UPDATE', detail, statements)
      } catch (error) {
        if (!(error instanceof GuardFailedError) || error.guard !== subjectsGuard) throw error
        throw new Problem('conflict', `A stream has at most ${mostSubjects} subjects.`)
      }
      return reply.code(isAdded ? 200 : 204).send()
    }

  const verify = async (request: SignalRequest, reply: FastifyReply) => {
    const receiver = await receiverOf(request, reply, [signalsScope])
    const { stream_id, state } = readVerify(request)
    const stream = await own.streamOf(receiver, stream_id)
    const event = {
      type: verification,
      txn: newId(),
      sub_id: { format: 'opaque', id: stream.id },
      details: state === undefined ? {} : { state },
    }
    const queued = transmitter.queue(receiver.issuer, stream, receiver.client.clientId, event)
    const noted = streams.noteVerification(stream.id, verificationInterval * 1000)
    try {
      // A disabled stream sends nothing, and holds nothing for later (§8.1.2.1).
      await recorder.commit([noted, ...(stream.status === 'disabled' ? [] : queued)], [])
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
      throw new Problem(
        'rate-limited',
        `A verification of this stream was asked for less than ${verificationInterval} s ago.`,
        { extra: { retryAfter: verificationInterval } },
      )
    }
    wake([stream.id])
    return reply.code(204).send()
  }

  const configuration = async (request: SignalRequest, reply: FastifyReply) => {
    const issuer = await issuers.known(request.params.realm)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    const { url, view } = issuer
    return reply.header('cache-control', 'public, max-age=300').send({
      spec_version: '1_0',
      issuer: url,
      jwks_uri: `${url}/.well-known/jwks.json`,
      delivery_methods_supported: [pushMethod, pollMethod],
      ...Object.fromEntries(
        Object.entries(signalPaths).map(([member, path]) => [member, `${url}${path}`]),
      ),
      // A receiver that left out the session would end all sessions of the user (§7.1).
      critical_subject_members: ['user', 'session'],
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: (await provisioningOf(view)).signalSubjects,
    })
  }

  return {
    configuration,
    readStatusOf,
    changeStatus,
    addSubject: changeSubject(true),
    removeSubject: changeSubject(false),
    verify,
  }
}

export type SignalRequests = ReturnType<typeof createSignalRequests>
