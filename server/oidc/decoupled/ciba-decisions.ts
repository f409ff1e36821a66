/** Decisions on requests of clients for a user who is elsewhere: a client that wants to be told of them is. */

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
