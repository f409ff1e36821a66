/** Decisions on CIBA requests: clients in ping mode are notified. */

import type { Recorder } from '#server/audit/audit.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { pingQueue, pingsFor } from './ciba-ping.ts'
import type { CibaRequests } from './ciba-requests.ts'
import { createDecisions, type Decisions } from './decoupled-decisions.ts'

export const createCibaDecisions = (
  {
    recorder,
    jobs,
  }: { readonly recorder: Recorder; readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'> },
  requests: CibaRequests,
): Decisions =>
  createDecisions({ recorder }, requests, 'CIBA', (row) =>
    jobs.enqueueStatements(pingQueue, pingsFor(requests, row)),
  )
