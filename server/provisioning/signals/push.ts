/** Pushes security events to their receivers (RFC 8935), through the guarded client. An event is signed when it is sent. */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { JobHandler, Outcome } from '#server/jobs/job.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { SignalEventRow, SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import type { Deliveries } from './delivery.ts'
import type { MayReceive } from './receiver.ts'
import type { TellRefused } from './refused-events.ts'
import type { Stops } from './stops.ts'
import type { Streams } from './streams.ts'
import { type SignalPayload, signalQueue } from './transmitter.ts'

export interface PushParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly issuers: Issuers
  readonly streams: Streams
  readonly mint: Pick<Mint, 'sign'>
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly deliveries: Pick<Deliveries, 'authorizationOf'>
  readonly stops: Pick<Stops, 'afterFailures'>
  readonly mayReceive: MayReceive
  readonly tellRefused: TellRefused
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const waits = [5 * second, minute, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour]
const longestAnswer = 64 * 1024
const timeoutMs = 10_000

/** A security event token (RFC 8417), as the receiver verifies it with the keys of the realm. */
export type SignSet = (
  issuer: Issuer,
  stream: SignalStreamRow,
  event: SignalEventRow,
) => Promise<string | undefined>

export const createSignSet =
  ({ mint }: Pick<PushParts, 'mint'>): SignSet =>
  async (issuer, stream, event) => {
    const document = await issuer.view.byId(Client.kind, stream.client_id)
    if (!document) return undefined
    const claims = JSON.parse(event.claims) as Claims
    return mint.sign(issuer, clientOf(document), 'secevent+jwt', claims)
  }

export const signalPushes = (parts: PushParts): JobHandler<SignalPayload> => {
  const { storage, issuers, streams, outgoing, deliveries, stops, mayReceive, tellRefused } = parts
  const signSet = createSignSet(parts)

  const push = async (
    issuer: Issuer,
    stream: SignalStreamRow,
    event: SignalEventRow,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const set = await signSet(issuer, stream, event)
    if (set === undefined || stream.endpoint_url === null) return { kind: 'done' }
    const authorization = deliveries.authorizationOf(stream)
    const { status } = await outgoing.request({
      url: stream.endpoint_url,
      method: 'POST',
      headers: {
        'content-type': 'application/secevent+jwt',
        accept: 'application/json',
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: set,
      timeoutMs,
      maxBytes: longestAnswer,
      dropBody: true,
      signal,
    })
    if (status >= 200 && status < 300) {
      await storage.commit(streams.acknowledge(stream.id, [event.id]))
      return { kind: 'done' }
    }
    // The receiver has read it and does not want it (RFC 8935 §2.3): it is not sent again.
    if (status === 400) {
      await storage.commit(streams.acknowledge(stream.id, [event.id]))
      // The body, which may say why, is not waited for.
      tellRefused(stream, { [event.id]: undefined })
    }
    const reason = `the receiver answers ${status}`
    return status === 400 ? { kind: 'dead', reason } : { kind: 'retry', reason }
  }

  return {
    queue: signalQueue,
    perTarget: 1,
    ordered: true,
    leaseMs: 15 * second,
    waits,
    jitter: 0.1,
    run: async ({ realm, target, payload }, signal) => {
      const issuer = await issuers.fresh(realm ?? '')
      if (!issuer) return { kind: 'retry', reason: 'the realm is disabled' }
      const stream = await streams.byId(target)
      const event = await streams.event(payload.event)
      // What a paused stream holds is queued again when it is enabled.
      const isHeld = stream?.status !== 'enabled' && event?.is_about_stream !== 1
      if (!stream || !event || isHeld) return { kind: 'done' }
      const document = await issuer.view.byId(Client.kind, stream.client_id)
      if (document && !(await mayReceive(issuer, clientOf(document))))
        return {
          kind: 'retry',
          reason:
            'the client is disabled, has no scope ssf.manage, or is an agent that is not ACTIVE',
        }
      try {
        return await push(issuer, stream, event, signal)
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        return { kind: 'retry', reason: error.message }
      }
    },
    dead: async ({ target }) => stops.afterFailures(target),
  }
}
