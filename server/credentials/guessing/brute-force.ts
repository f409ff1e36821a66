/**
 * Guessing of passwords is counted per user and per address, and slowed down.
 *
 * Counting after the fact would let parallel attempts through before the first is counted. So an attempt is
 * RESERVED before the password is looked at, and only as many are reserved as there are failures left until the
 * next lock; it is settled afterwards. An attempt that finds all reservations taken by others has to wait for them:
 * refusing it would turn away a correct password just because others sign in at the same time.
 *
 * A process that alone writes to the database keeps its reservations in memory.
 *
 * Unknown usernames are counted as well, so that a lock does not reveal which names exist.
 */

import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import {
  addressFailure,
  addressSubject,
  forgiven,
  forgotten,
  forgottenBefore,
  type Guard,
  type GuardSettings,
  isLocked,
  latestLock,
  nameSubject,
  type Place,
  RESERVATION_MS,
  released,
  reserved,
  type SeenGuard,
  type SettledFailure,
  seenGuards,
  userFailure,
  userSubject,
} from './guard-rows.ts'
import { heldAttemptsOn } from './held-attempts.ts'

export interface Claim {
  readonly realm: string
  /** The user with the given name, if there is one. */
  readonly userId: string | undefined
  readonly name: string
  readonly address: string
  readonly settings: GuardSettings
}

export interface Reservation {
  /** For the commit of the sign-in: gives the reservation back and forgets the user's failures. */
  readonly succeeded: () => Statement[]
  readonly failed: () => Promise<SettledFailure>
  /** It was no guess after all, or more is asked of the user. */
  readonly released: () => Statement[]
  /** To be called once, after the commit of whichever of these it was, or when there will be none. */
  readonly end: () => void
}

export interface BruteForce {
  /** `locked`: nothing is to be evaluated. `taken`: others hold every reservation, ask again shortly. */
  reserve(claim: Claim): Promise<Reservation | 'locked' | 'taken'>
  /** Which of these users are locked by failures now. */
  locked(
    realm: string,
    userIds: readonly string[],
    settings: GuardSettings,
  ): Promise<ReadonlySet<string>>
  /** An administrator's unlock: the failures are forgotten. */
  unlockStatements(realm: string, userId: string): Statement[]
  /** A whole sign-in whose last step was none that could be guessed: failures are forgotten, a lock is not. */
  forgiveStatements(realm: string, userId: string): Statement[]
  /** Removes what no longer counts; for the job that keeps tables small. */
  forgetStatements(realm: string, settings: GuardSettings): Statement[]
}

export interface BruteForceParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'alone'>
  readonly clock: Clock
}

type Held = Omit<Reservation, 'end'>

/** What an attempt is counted under: the user and the address. */
type Guards = readonly [user: Guard, address: Guard]

const guardsOf = ({ realm, userId, name, address, settings }: Claim): Guards => [
  {
    realm,
    subject: userId === undefined ? nameSubject(name) : userSubject(userId),
    factor: settings.failureFactor,
    settings,
  },
  {
    realm,
    subject: addressSubject(address),
    factor: settings.addressFailureFactor,
    settings,
  },
]

/** In the rows: of other processes, or of a database that was copied from one that several wrote to. */
const stillReserved = (row: SeenGuard | undefined, now: number): number =>
  row === undefined || Math.abs(now - row.reserved_at) > RESERVATION_MS ? 0 : row.reserved

const stillCounted = ({ failures, last_failure_at }: SeenGuard, guard: Guard, now: number) =>
  last_failure_at < forgottenBefore(guard.settings, now) ? 0 : failures

export const createBruteForce = ({ storage, clock }: BruteForceParts): BruteForce => {
  const { db } = storage
  const held = heldAttemptsOn(db)

  /** Counts a failure on top of those that were seen; when that fails its guard, on top of those that are there now. */
  const failing = (
    [user, address]: Guards,
    seen: number | undefined,
    place: Place,
  ): (() => Promise<SettledFailure>) => {
    let isFirst = true
    const seenAgain = async (now: number): Promise<number | undefined> => {
      const [row] = await seenGuards(db, user, address)
      return row && stillCounted(row, user, now)
    }
    return async () => {
      const now = clock.now()
      const counted = userFailure(db, user, isFirst ? seen : await seenAgain(now), now, place)
      isFirst = false
      const ofAddress = addressFailure(db, address, now, place)
      return { ...counted, statements: [...counted.statements, ofAddress] }
    }
  }

  /** Several processes write to the database: they see each other's reservations there. */
  const reserveThere = async (guards: Guards): Promise<Held | 'locked' | 'taken'> => {
    const [user, address] = guards
    const now = clock.now()
    try {
      const [made] = await storage.commit(guards.map((guard) => reserved(db, guard, now)))
      return {
        succeeded: () => [forgiven(db, user), released(db, address)],
        failed: failing(guards, Number(made?.rows[0]?.['failures'] ?? 0), 'row'),
        released: () => guards.map((guard) => released(db, guard)),
      }
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
    }
    const rows = await seenGuards(db, user, address)
    return rows.some((row) => row && isLocked(row, user.settings, now)) ? 'locked' : 'taken'
  }

  /**
   * No other process writes. The reservations were taken before the rows are read: an attempt that ends concurrently
   * is counted as a reservation or as a failure, or both, never as neither.
   */
  const reserveHere = async (
    guards: Guards,
    places: readonly number[],
  ): Promise<Held | 'locked' | 'taken'> => {
    const now = clock.now()
    const rows = await seenGuards(db, ...guards)
    const [user] = guards
    if (rows.some((row) => row && isLocked(row, user.settings, now))) return 'locked'
    const counts = rows.map((row, index) => row && stillCounted(row, guards[index] as Guard, now))
    const isFree = guards.every(({ factor }, index) => {
      const others = stillReserved(rows[index], now) + (places[index] ?? 0)
      return ((counts[index] ?? 0) % factor) + others <= factor
    })
    if (!isFree) return 'taken'
    const hasFailed = (rows[0]?.failures ?? 0) > 0
    return {
      succeeded: () => (hasFailed ? [forgotten(db, user)] : []),
      failed: failing(guards, counts[0], 'memory'),
      released: () => [],
    }
  }

  const row = (realm: string, subject: string) =>
    db.updateTable('login_guards').where('realm', '=', realm).where('subject', '=', subject)

  return {
    async reserve(claim) {
      if (!claim.settings.bruteForceProtected) return noReservation
      const guards = guardsOf(claim)
      const places = guards.map(({ realm, subject }) => held.take(realm, subject))
      const end = (): void => {
        for (const { realm, subject } of guards) held.giveBack(realm, subject)
      }
      try {
        const made = await (storage.alone ? reserveHere(guards, places) : reserveThere(guards))
        if (typeof made !== 'string') return { ...made, end }
        end()
        return made
      } catch (error) {
        end()
        throw error
      }
    },

    async locked(realm, userIds, settings) {
      if (userIds.length === 0) return new Set()
      const now = clock.now()
      const rows = await db
        .selectFrom('login_guards')
        .select('subject')
        .where('realm', '=', realm)
        .where('subject', 'in', userIds.map(userSubject))
        .where('locked_until', '>', now)
        .where('locked_until', '<=', latestLock(settings, now))
        .execute()
      const subjects = new Set(rows.map(({ subject }) => subject))
      return new Set(userIds.filter((id) => subjects.has(userSubject(id))))
    },

    unlockStatements: (realm, userId) => [
      statement(row(realm, userSubject(userId)).set({ failures: 0, locked_until: 0 })),
    ],

    forgiveStatements: (realm, userId) => [
      statement(
        row(realm, userSubject(userId))
          .set({ failures: 0 })
          .where('locked_until', '<=', clock.now()),
      ),
    ],

    forgetStatements(realm, settings) {
      const now = clock.now()
      return [
        statement(
          db
            .updateTable('login_guards')
            .set({ failures: 0, locked_until: 0, last_failure_at: 0, reserved: 0, reserved_at: 0 })
            .where('realm', '=', realm)
            .where('locked_until', '>', latestLock(settings, now)),
        ),
        statement(
          db
            .deleteFrom('login_guards')
            .where('realm', '=', realm)
            .where('locked_until', '<=', now)
            .where('last_failure_at', '<', forgottenBefore(settings, now))
            .where('reserved_at', '<', now - RESERVATION_MS),
        ),
      ]
    },
  }
}

/** What an attempt holds where nothing is counted. */
export const noReservation: Reservation = {
  succeeded: () => [],
  failed: async () => ({ statements: [] }),
  released: () => [],
  end: () => {},
}
