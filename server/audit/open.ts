/** Opens the audit trail: the recorder that every write goes through, and what reads, seals, forwards and forgets events. */

import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { type Logger, plainLines } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { createRecorder } from './audit.ts'
import { createSealEvents } from './chain.ts'
import { createCheckChain } from './chain-check.ts'
import { createEmission, emitting } from './emission.ts'
import { createForwarder } from './forwarder.ts'
import { createOutbox } from './outbox.ts'
import { createPersonalKeys } from './personal-keys.ts'
import { createReadRecords } from './records.ts'
import { createForgetEvents } from './retention.ts'
import { createEventStreams } from './stream.ts'
import { createTotals } from './totals.ts'

export interface AuditNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly logger: Logger
  readonly jobs: Jobs
  readonly outgoing: Outgoing
  readonly secrets: {
    readonly keyring: Keyring
    readonly keyFor: (purpose: string) => Uint8Array
  }
  /** The name of the realm that speaks for the whole server. */
  readonly master: string
}

export const openAudit = async (needs: AuditNeeds) => {
  const { storage, clock, logger, jobs, outgoing, secrets, master } = needs
  const { keyring } = secrets
  const chainKey = secrets.keyFor('audit-chain')
  const personalKeys = createPersonalKeys({ storage, keyring })
  const emission = await createEmission({ storage, keyring })
  const outbox = createOutbox(storage)
  const sinks = [emitting(emission, plainLines(logger, 'audit')), outbox.notice]
  const totals = createTotals(storage, clock)
  const readRecords = createReadRecords(personalKeys)
  const shared = storage.dialect.sharedByProcesses
  return {
    recorder: createRecorder({ storage, clock, personalKeys, sinks }),
    outbox,
    emission,
    personalKeys,
    readRecords,
    totals,
    streams: createEventStreams({ outbox, readRecords, shared }),
    forwarder: createForwarder({
      storage,
      outbox,
      emission,
      jobs,
      outgoing,
      readRecords,
      clock,
      logger,
    }),
    sealEvents: createSealEvents({ storage, outbox, clock, logger, chainKey }),
    checkChain: createCheckChain({ storage, outbox, chainKey }),
    forgetEvents: createForgetEvents({ storage, totals, master }),
    close: () => emission.close(),
  }
}

export type AuditArea = Awaited<ReturnType<typeof openAudit>>
