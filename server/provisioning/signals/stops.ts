/**
 * Streams that the transmitter itself pauses: their receiver takes no events, or does not fetch them. The receiver is told
 * by a stream-updated event (SSF 1.0 §8.1.5), and enables the stream again at the status endpoint.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { streamUpdated } from './event-types.ts'
import { inactivityTimeout } from './stream-body.ts'
import type { Streams } from './streams.ts'
import type { Transmitter } from './transmitter.ts'

export interface StopParts {
  readonly recorder: Pick<Recorder, 'commit'>
  readonly clock: Clock
  readonly issuers: Issuers
  readonly streams: Streams
  readonly transmitter: Pick<Transmitter, 'queue'>
  readonly wake: (streamIds: Iterable<string>) => void
}

export interface Stops {
  /** A push has failed for as long as it is tried. */
  afterFailures(streamId: string): Promise<void>
  /** Streams that no receiver has fetched events of for a long time. */
  afterInactivity(): Promise<void>
}

export const createStops = (parts: StopParts): Stops => {
  const { recorder, clock, issuers, streams, transmitter, wake } = parts

  const pause = async (stream: SignalStreamRow, reason: string): Promise<void> => {
    const issuer = await issuers.fresh(stream.realm)
    const document = await issuer?.view.byId(Client.kind, stream.client_id)
    if (!issuer || !document) return
    const statements = [
      streams.stop(stream.id, 'paused', reason),
      ...transmitter.queue(issuer, stream, clientOf(document).clientId, {
        type: streamUpdated,
        txn: newId(),
        sub_id: { format: 'opaque', id: stream.id },
        details: { status: 'paused', reason },
        isAboutStream: true,
      }),
    ]
    const event = {
      type: 'ADMIN_UPDATE',
      realm: stream.realm,
      actor: 'system',
      sourceIp: '127.0.0.1',
      outcome: 'SUCCESS',
      resourceType: Client.resourceType,
      resourceId: stream.client_id,
      detail: `signal stream paused: ${reason}`,
    } as const
    try {
      await recorder.commit(statements, [event])
      wake([stream.id])
    } catch (error) {
      // Its receiver, or another node, has changed the status meanwhile.
      if (!(error instanceof GuardFailedError)) throw error
    }
  }

  return {
    afterFailures: async (streamId) => {
      const stream = await streams.byId(streamId)
      if (stream?.status === 'enabled')
        await pause(stream, 'The receiver has not accepted events for too long.')
    },
    afterInactivity: async () => {
      const idle = await streams.idleSince(clock.now() - inactivityTimeout * 1000)
      for (const stream of idle)
        await pause(stream, 'The receiver has not fetched events for too long.')
    },
  }
}
