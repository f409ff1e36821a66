/**
 * The reservation of an attempt by a name that only a directory knows. An entry has many names: its username, its addresses, and
 * whatever the directory takes for the same text (RFC 4518). Guesses by each of them count for the one user, or the one entry.
 */

import type { Recorder } from '#server/audit/audit.ts'
import { foldName } from '#server/users/names.ts'
import { type BruteForce, type Claim, noReservation, type Reservation } from './brute-force.ts'

/** Whose name it is: the user, or the username of an entry without one. */
export type Named = Pick<Claim, 'userId' | 'name'>

/** Others hold every reservation of the user: the attempt has to wait. */
export class TakenByOthers extends Error {
  override readonly name = 'TakenByOthers'
}

export interface MovingReservation extends Reservation {
  /** Reserves the attempt anew under whose it is. False where that is locked, and nothing is to be evaluated. */
  readonly recognise: (named: Named) => Promise<boolean>
}

export const movingReservation = (
  first: Reservation,
  claim: Claim,
  {
    bruteForce,
    recorder,
  }: {
    readonly bruteForce: Pick<BruteForce, 'reserve'>
    readonly recorder: Pick<Recorder, 'commit'>
  },
): MovingReservation => {
  let current = first
  const isOf = ({ userId, name }: Named): boolean =>
    userId === claim.userId && (userId !== undefined || foldName(name) === foldName(claim.name))

  return {
    succeeded: () => current.succeeded(),
    failed: () => current.failed(),
    released: () => current.released(),
    end: () => current.end(),
    recognise: async (named) => {
      if (isOf(named)) return true
      const before = current
      current = noReservation
      // Given back first: both count for the address.
      try {
        await recorder.commit(before.released(), [])
      } finally {
        before.end()
      }
      const moved = await bruteForce.reserve({ ...claim, ...named })
      if (moved === 'taken') throw new TakenByOthers()
      if (moved === 'locked') return false
      current = moved
      return true
    },
  }
}
