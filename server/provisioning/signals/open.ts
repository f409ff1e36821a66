/** Opens the transmitter of security events (Shared Signals Framework 1.0, CAEP 1.0). */

import type { FastifyPluginAsync } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import { startFollower } from '#server/audit/follower.ts'
import type { AuditArea } from '#server/audit/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { createDeliveries } from './delivery.ts'
import { credentialChanges } from './event-types.ts'
import { createForgetPerson } from './forget-person.ts'
import { createOwnStreams } from './own-streams.ts'
import { createPollRequest } from './polling/poll-requests.ts'
import { createPolls } from './polling/polls.ts'
import { createSignSet, signalPushes } from './push.ts'
import { createMayReceive, createReceiverOf } from './receiver.ts'
import { createTellRefused } from './refused-events.ts'
import { createSignalRequests } from './requests.ts'
import { signalRoutes } from './routes.ts'
import { createStops } from './stops.ts'
import { createStreamRequests } from './stream-requests.ts'
import { createStreams } from './streams.ts'
import { createTransmitter, signalQueue } from './transmitter.ts'

export interface SignalNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Outgoing
  readonly vault: Vault
  readonly recorder: Recorder
  readonly jobs: Jobs
  readonly audit: Pick<AuditArea, 'outbox'>
  readonly tokens: Pick<TokensArea, 'issuers' | 'verifier' | 'mint' | 'subjects' | 'agents'>
}

export const openSignals = (needs: SignalNeeds) => {
  const { storage, clock, logger, outgoing, vault, recorder, jobs, audit } = needs
  const { issuers, verifier, mint, subjects, agents } = needs.tokens
  const streams = createStreams({ storage, clock })
  const polls = createPolls(storage)
  const deliveries = createDeliveries({ vault, outgoing })
  const wake = (streamIds: Iterable<string>): void => {
    jobs.wake(signalQueue)
    polls.wake(streamIds)
  }
  const mayReceive = createMayReceive({ agents })
  const transmitter = createTransmitter({
    storage,
    clock,
    streams,
    issuers,
    subjects,
    jobs,
    mayReceive,
    wake,
  })
  const stops = createStops({ recorder, clock, issuers, streams, transmitter, wake })
  const own = createOwnStreams({ recorder, streams })
  const receiverOf = createReceiverOf({ issuers, verifier, agents })
  const signSet = createSignSet({ mint })
  const tellRefused = createTellRefused(logger)
  const handlers = {
    streams: createStreamRequests({ streams, own, deliveries, transmitter, receiverOf }),
    requests: createSignalRequests({
      recorder,
      issuers,
      streams,
      own,
      transmitter,
      wake,
      receiverOf,
    }),
    poll: createPollRequest({
      recorder,
      streams,
      own,
      polls,
      receiverOf,
      signSet,
      tellRefused,
    }),
  }
  return {
    tellLogout: transmitter.tellLogout,
    pushes: signalPushes({
      storage,
      issuers,
      streams,
      mint,
      outgoing,
      deliveries,
      stops,
      mayReceive,
      tellRefused,
    }),
    pauseIdle: stops.afterInactivity,
    forgetStatement: streams.forgetStatement,
    forgetPerson: createForgetPerson({ streams, subjects }),
    /** Ends the waits of receivers, which have no end of their own that closing could wait for. */
    endPolls: polls.close,
    /** Follows the audit trail for changes of credentials. */
    start: () =>
      startFollower({
        name: 'signals',
        outbox: audit.outbox,
        storage,
        logger,
        wanted: streams.isAny,
        changesWanted: ({ type }) => type in credentialChanges,
        make: transmitter.make,
        made: transmitter.made,
      }),
    routes: (async (app) => signalRoutes(app, handlers)) satisfies FastifyPluginAsync,
  }
}

export type SignalsArea = ReturnType<typeof openSignals>
