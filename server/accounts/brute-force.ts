/**
 * Guessing of passwords is counted per user and per address, and slowed down.
 *
 * Counting after the fact would let parallel attempts through before the first is counted. So an attempt is
 * RESERVED before the password is looked at, and only as many are reserved as there are failures left until the
 * next lock; it is settled afterwards. An attempt that finds all reservations taken by others has to wait for them:
 * refusing it would turn away a correct password just because others sign in at the same time.
 *
 * A name that nobody has is counted as well, so that a lock does not tell whose names exist.
 */

import { sql } from 'kysely'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { addressGroup, normalAddress } from '#server/http/client-address.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { LoginGuardRow } from '#server/storage/tables.ts'
import { foldName } from './names.ts'

export type GuardSettings = Pick<
  SettingsDoc,
  | 'bruteForceProtected'
  | 'failureFactor'
  | 'addressFailureFactor'
  | 'waitIncrementSeconds'
  | 'maxFailureWaitSeconds'
  | 'maxDeltaTimeSeconds'
>

export interface Claim {
  readonly realm: string
  /** The user who has the name that was given, if anybody has. */
  readonly userId: string | undefined
  readonly name: string
  readonly address: string
  readonly settings: GuardSettings
}

export interface Lock {
  readonly ms: number
  /** Of those since the last whole sign-in. */
  readonly first: boolean
}

/** How a failure is to be stored. Fails its guard when another failure came between; then ask again. */
export interface SettledFailure {
  readonly statements: readonly Statement[]
  /** Where this failure locks the user. */
  readonly lock?: Lock | undefined
}

export interface Reservation {
  /** For the commit of the sign-in: gives the reservation back and forgets the user's failures. */
  readonly succeeded: () => Statement[]
  readonly failed: () => Promise<SettledFailure>
  /** The password was not looked at after all. */
  readonly released: () => Statement[]
}

export interface BruteForce {
  /** `locked`: nothing is to be evaluated. `taken`: others hold every reservation, ask again shortly. */
  reserve(claim: Claim): Promise<Reservation | 'locked' | 'taken'>
  /** Which of these users are locked by failures now. */
  locked(realm: string, userIds: readonly string[]): Promise<ReadonlySet<string>>
  /** An administrator's unlock: the failures are forgotten. */
  unlockStatements(realm: string, userId: string): Statement[]
  /** A whole sign-in whose last step was none that could be guessed: failures are forgotten, a lock is not. */
  forgiveStatements(realm: string, userId: string): Statement[]
  /** Removes what no longer counts; for the job that keeps tables small. */
  forgetStatements(realm: string, settings: GuardSettings): Statement[]
}

export interface BruteForceParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
}

/** A reservation older than this belongs to a process that died. */
const RESERVATION_MS = 30_000

export const userSubject = (userId: string): string => `user:${userId}`

export const addressSubject = (address: string): string =>
  `addr:${addressGroup(normalAddress(address) ?? 'unknown')}`

/** Digested: an unknown name is often a password in the wrong field. */
const nameSubject = (name: string): string => `name:${sha256(foldName(name))}`

/** Everything under which failures of somebody may be counted. */
export const guardSubjectsOf = (userId: string, names: readonly string[]): string[] => [
  userSubject(userId),
  ...names.map(nameSubject),
]

interface Guard {
  readonly subject: string
  /** Failures until a lock. */
  readonly factor: number
}

const subjectOf = ({ userId, name }: Claim): string =>
  userId === undefined ? nameSubject(name) : userSubject(userId)

const lockMs = (failures: number, factor: number, settings: GuardSettings): number =>
  1000 *
  Math.min(
    settings.maxFailureWaitSeconds,
    settings.waitIncrementSeconds * Math.floor(failures / factor),
  )

const oneLess = sql<number>`case when reserved > 0 then reserved - 1 else 0 end`

type Subject = {
  readonly realm: string
  readonly subject: string
}

type Reserving = Subject & {
  readonly factor: number
  readonly now: number
  /** Failures before this moment no longer count. */
  readonly forgotten: number
  /** Nor do reservations before this one. */
  readonly abandoned: number
}

/** One more reservation, where the subject is not locked and has one free. */
const reserved = preparedStatement(
  (db, { realm, subject, factor, now, forgotten, abandoned }: Reserving) => {
    const failures = sql<number>`case when login_guards.last_failure_at < ${forgotten}
      then 0 else login_guards.failures end`
    const held = sql<number>`case when login_guards.reserved_at < ${abandoned}
      then 0 else login_guards.reserved end`
    const isFree = sql<boolean>`(${failures}) % ${factor} + (${held}) < ${factor}`
    return db
      .insertInto('login_guards')
      .values({
        realm,
        subject,
        failures: 0,
        reserved: 1,
        reserved_at: now,
        locked_until: 0,
        last_failure_at: 0,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['realm', 'subject'])
          .doUpdateSet({ failures, reserved: sql<number>`(${held}) + 1`, reserved_at: now })
          .where('login_guards.locked_until', '<=', now)
          .where(isFree),
      )
      .returning('failures')
  },
)

const released = preparedStatement((db, { realm, subject }: Subject) =>
  db
    .updateTable('login_guards')
    .set({ reserved: oneLess })
    .where('realm', '=', realm)
    .where('subject', '=', subject),
)

/** As `released`, and the failures are forgotten. */
const forgiven = preparedStatement((db, { realm, subject }: Subject) =>
  db
    .updateTable('login_guards')
    .set({ failures: 0, reserved: oneLess })
    .where('realm', '=', realm)
    .where('subject', '=', subject),
)

export const createBruteForce = ({ storage, clock }: BruteForceParts): BruteForce => {
  const { db } = storage

  const row = (realm: string, subject: string) =>
    db.updateTable('login_guards').where('realm', '=', realm).where('subject', '=', subject)

  const reserveStatement = (
    { realm, settings }: Claim,
    { subject, factor }: Guard,
    now: number,
  ): Statement => ({
    ...reserved(db, {
      realm,
      subject,
      factor,
      now,
      forgotten: now - settings.maxDeltaTimeSeconds * 1000,
      abandoned: now - RESERVATION_MS,
    }),
    expect: { rows: 1, guard: `attempt:${subject}` },
  })

  const read = (realm: string, guards: readonly Guard[]): Promise<LoginGuardRow[]> =>
    db
      .selectFrom('login_guards')
      .selectAll()
      .where('realm', '=', realm)
      .where(
        'subject',
        'in',
        guards.map(({ subject }) => subject),
      )
      .execute()

  const release = (realm: string, { subject }: Guard): Statement => released(db, { realm, subject })

  const addressFailure = (claim: Claim, { subject, factor }: Guard, now: number): Statement => {
    const { waitIncrementSeconds: step, maxFailureWaitSeconds: most } = claim.settings
    const seconds = sql`(failures + 1) / ${factor} * ${step}`
    return statement(
      row(claim.realm, subject).set({
        failures: sql<number>`failures + 1`,
        reserved: oneLess,
        last_failure_at: now,
        locked_until: sql<number>`case when (failures + 1) % ${factor} <> 0 then locked_until
          when ${seconds} > ${most} then ${now + most * 1000}
          else ${now} + (${seconds}) * 1000 end`,
      }),
    )
  }

  /** The user's counter is compared and swapped, because the event of a lock is part of the same commit. */
  const userFailure = (
    claim: Claim,
    { subject, factor }: Guard,
    seen: number,
    now: number,
  ): SettledFailure => {
    const failures = seen + 1
    const duration = failures % factor === 0 ? lockMs(failures, factor, claim.settings) : 0
    const counted = row(claim.realm, subject)
      .where('failures', '=', seen)
      .set({
        failures,
        reserved: oneLess,
        last_failure_at: now,
        ...(duration > 0 ? { locked_until: now + duration } : {}),
      })
    return {
      statements: [guarded(counted, `failures:${subject}`)],
      lock: duration > 0 ? { ms: duration, first: failures === factor } : undefined,
    }
  }

  const reservation = (claim: Claim, user: Guard, address: Guard, seen: number): Reservation => {
    let expected: number | undefined = seen
    return {
      succeeded: () => [
        forgiven(db, { realm: claim.realm, subject: user.subject }),
        release(claim.realm, address),
      ],
      failed: async () => {
        expected ??= (await read(claim.realm, [user]))[0]?.failures
        const now = clock.now()
        // Without a row the realm is gone, and the count with it.
        const counted =
          expected === undefined ? { statements: [] } : userFailure(claim, user, expected, now)
        expected = undefined
        return {
          ...counted,
          statements: [...counted.statements, addressFailure(claim, address, now)],
        }
      },
      released: () => [release(claim.realm, user), release(claim.realm, address)],
    }
  }

  return {
    async reserve(claim) {
      const { realm, settings } = claim
      if (!settings.bruteForceProtected) return unguarded
      const user = { subject: subjectOf(claim), factor: settings.failureFactor }
      const address = {
        subject: addressSubject(claim.address),
        factor: settings.addressFailureFactor,
      }
      const now = clock.now()
      try {
        const [made] = await storage.commit([
          reserveStatement(claim, user, now),
          reserveStatement(claim, address, now),
        ])
        return reservation(claim, user, address, Number(made?.rows[0]?.['failures'] ?? 0))
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
      }
      const rows = await read(realm, [user, address])
      return rows.some((guard) => guard.locked_until > now) ? 'locked' : 'taken'
    },

    async locked(realm, userIds) {
      if (userIds.length === 0) return new Set()
      const rows = await db
        .selectFrom('login_guards')
        .select('subject')
        .where('realm', '=', realm)
        .where('subject', 'in', userIds.map(userSubject))
        .where('locked_until', '>', clock.now())
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
            .deleteFrom('login_guards')
            .where('realm', '=', realm)
            .where('locked_until', '<=', now)
            .where('last_failure_at', '<', now - settings.maxDeltaTimeSeconds * 1000)
            .where('reserved_at', '<', now - RESERVATION_MS),
        ),
      ]
    },
  }
}

/** What an attempt holds in a realm that does not count. */
const unguarded: Reservation = {
  succeeded: () => [],
  failed: async () => ({ statements: [] }),
  released: () => [],
}
