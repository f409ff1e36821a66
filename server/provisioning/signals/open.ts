/** Opens the transmitter of security events (Shared Signals Framework 1.0, CAEP 1.0). */

import type { FastifyPluginAsync } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import { startFollower } from '#server/audit/follower.ts'
import type { AuditArea } from '#server/audit/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import { credentialChanges } from './event-types.ts'
import { createSignSet, signalPushes } from './push.ts'
import { createReceiverOf } from './receiver.ts'
import { createSignalRequests } from './requests.ts'
import { signalRoutes } from './routes.ts'
import { createStreams } from './streams.ts'
import { createTransmitter, signalQueue } from './transmitter.ts'

export interface SignalNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Outgoing
  readonly recorder: Recorder
  readonly jobs: Jobs
  readonly audit: Pick<AuditArea, 'outbox'>
  readonly tokens: Pick<TokensArea, 'issuers' | 'verifier' | 'mint' | 'subjects'>
}

export const openSignals = (needs: SignalNeeds) => {
  const { storage, clock, logger, outgoing, recorder, jobs, audit } = needs
  const { issuers, verifier, mint, subjects } = needs.tokens
  const streams = createStreams({ storage, clock })
  const transmitter = createTransmitter({ storage, clock, streams, issuers, subjects, jobs })
  const requests = createSignalRequests({
    recorder,
    issuers,
    streams,
    transmitter,
    jobs,
    receiverOf: createReceiverOf({ issuers, verifier }),
    signSet: createSignSet({ mint }),
  })
  return {
    tellLogout: transmitter.tellLogout,
    pushes: signalPushes({ storage, issuers, streams, mint, outgoing }),
    forgetStatement: streams.forgetStatement,
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
        made: () => jobs.wake(signalQueue),
      }),
    routes: (async (app) => signalRoutes(app, requests)) satisfies FastifyPluginAsync,
  }
}

export type SignalsArea = ReturnType<typeof openSignals>
