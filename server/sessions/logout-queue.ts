/**
 * The queue of logouts: tells the clients of a session that it has ended. The jobs are created in the transaction that ends the
 * session; each protocol tells its own clients. A client that does not answer is retried with growing delays for a day.
 */

import type { Job, JobHandler, Outcome } from '#server/jobs/job.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { type EndedSession, logoutQueue } from './endings.ts'

/** Undefined where the client is not one of the protocol. */
export type TellLogout = (
  job: Job<EndedSession>,
  issuer: Issuer,
  signal: AbortSignal,
) => Promise<Outcome | undefined>

const minute = 60_000
/** Delays after the first failure, the second, and so on; no retry after the last. */
const waits = [10_000, minute, 5 * minute, 30 * minute, 120 * minute, 360 * minute, 720 * minute]

export const logoutHandler = ({
  issuers,
  protocols,
}: {
  readonly issuers: Issuers
  readonly protocols: readonly TellLogout[]
}): JobHandler<EndedSession> => {
  const tell = async (job: Job<EndedSession>, signal: AbortSignal): Promise<Outcome> => {
    const issuer = await issuers.fresh(job.realm ?? '')
    if (!issuer) return { kind: 'retry', reason: 'the realm is disabled' }
    for (const protocol of protocols) {
      const outcome = await protocol(job, issuer, signal)
      if (outcome) return outcome
    }
    // The client is gone.
    return { kind: 'done' }
  }

  return {
    queue: logoutQueue,
    perTarget: 10,
    untold: true,
    leaseMs: minute / 4,
    waits,
    run: async (job, signal) => {
      try {
        return await tell(job, signal)
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        return { kind: 'retry', reason: error.message }
      }
    },
  }
}
