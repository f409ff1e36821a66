/** Rows of failed attempts: one for a user or an unknown name, and one for an IP address. */

import { type Kysely, sql } from 'kysely'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { addressGroup, normalAddress } from '#server/http/client-address.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { LoginGuardRow, Tables } from '#server/storage/tables/tables.ts'
import { foldName } from '#server/users/names.ts'

export type GuardSettings = Pick<
  SettingsDoc,
  | 'bruteForceProtected'
  | 'failureFactor'
  | 'addressFailureFactor'
  | 'waitIncrementSeconds'
  | 'maxFailureWaitSeconds'
  | 'maxDeltaTimeSeconds'
>

/** One of the two rows that an attempt is counted in. */
export interface Guard {
  readonly realm: string
  readonly subject: string
  /** Failures until a lock. */
  readonly factor: number
  readonly settings: GuardSettings
}

export interface Lock {
  readonly ms: number
  /** Of those since the last whole sign-in. */
  readonly first: boolean
}

/** Whether an attempt is among the reservations of its rows, or counted in memory. */
export type Place = 'row' | 'memory'

/** How a failure is to be stored. Fails its guard when another failure came between; then ask again. */
export interface SettledFailure {
  readonly statements: readonly Statement[]
  /** Where this failure locks the user. */
  readonly lock?: Lock | undefined
}

export type SeenGuard = Pick<
  LoginGuardRow,
  'subject' | 'failures' | 'locked_until' | 'last_failure_at' | 'reserved' | 'reserved_at'
>

/** A reservation older than this belongs to a process that died. */
export const RESERVATION_MS = 30_000

export const userSubject = (userId: string): string => `user:${userId}`

export const addressSubject = (address: string): string =>
  `addr:${addressGroup(normalAddress(address) ?? 'unknown')}`

/** Digested: an unknown name is often a password in the wrong field. */
export const nameSubject = (name: string): string => `name:${sha256(foldName(name))}`

/** All keys under which failures of a user may be counted. */
export const guardSubjectsOf = (userId: string, names: readonly string[]): string[] => [
  userSubject(userId),
  ...names.map(nameSubject),
]

/** Failures before this moment no longer count. */
export const forgottenBefore = ({ maxDeltaTimeSeconds }: GuardSettings, now: number): number =>
  now - maxDeltaTimeSeconds * 1000

/**
 * Until when a lock of now can last at most. One that ends later was set while a clock was wrong and counts no more: it
 * would otherwise lock its user for as long as the clock was ahead.
 */
export const latestLock = ({ maxFailureWaitSeconds }: GuardSettings, now: number): number =>
  now + maxFailureWaitSeconds * 1000

export const isLocked = (
  { locked_until }: Pick<LoginGuardRow, 'locked_until'>,
  settings: GuardSettings,
  now: number,
): boolean => locked_until > now && locked_until <= latestLock(settings, now)

const countedSince = (forgotten: number) => sql<number>`case
  when login_guards.last_failure_at < ${forgotten} then 0 else login_guards.failures end`

const oneLess = sql<number>`case
  when login_guards.reserved > 0 then login_guards.reserved - 1 else 0 end`

type Subject = {
  readonly realm: string
  readonly subject: string
}

type Reserving = Subject & {
  readonly factor: number
  readonly now: number
  readonly forgotten: number
  /** Locks until after this moment do not count. */
  readonly latest: number
  /** Reservations before this moment no longer count, nor those after the other. */
  readonly abandoned: number
  readonly impossible: number
}

const oneMoreReserved = preparedStatement(
  (db, { realm, subject, factor, now, forgotten, latest, abandoned, impossible }: Reserving) => {
    const failures = countedSince(forgotten)
    const held = sql<number>`case
      when login_guards.reserved_at < ${abandoned} or login_guards.reserved_at > ${impossible}
      then 0 else login_guards.reserved end`
    const isOpen = sql<boolean>`(login_guards.locked_until <= ${now}
      or login_guards.locked_until > ${latest})`
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
          .where(isOpen)
          .where(isFree),
      )
      .returning('failures')
  },
)

/** One more reservation, where the subject is not locked and has one free; returns the failures so far. */
export const reserved = (
  db: Kysely<Tables>,
  { realm, subject, factor, settings }: Guard,
  now: number,
): Statement => ({
  ...oneMoreReserved(db, {
    realm,
    subject,
    factor,
    now,
    forgotten: forgottenBefore(settings, now),
    latest: latestLock(settings, now),
    abandoned: now - RESERVATION_MS,
    impossible: now + RESERVATION_MS,
  }),
  expect: { rows: 1, guard: `attempt:${subject}` },
})

export const released = preparedStatement((db, { realm, subject }: Subject) =>
  db
    .updateTable('login_guards')
    .set({ reserved: oneLess })
    .where('realm', '=', realm)
    .where('subject', '=', subject),
)

/** The change of a row when the attempt behind one of its reservations has ended. */
const givenBack = (place: Place) => (place === 'row' ? { reserved: oneLess } : {})

/** The failures of a user whose attempt was counted in memory. */
export const forgotten = preparedStatement((db, { realm, subject }: Subject) =>
  db
    .updateTable('login_guards')
    .set({ failures: 0 })
    .where('realm', '=', realm)
    .where('subject', '=', subject),
)

/** As `released`, and the failures are forgotten. */
export const forgiven = preparedStatement((db, { realm, subject }: Subject) =>
  db
    .updateTable('login_guards')
    .set({ failures: 0, reserved: oneLess })
    .where('realm', '=', realm)
    .where('subject', '=', subject),
)

const bothRows = preparedQuery(
  'login-guards',
  (db, { realm, user, address }: { realm: string; user: string; address: string }) =>
    db
      .selectFrom('login_guards')
      .select(['subject', 'failures', 'locked_until', 'last_failure_at', 'reserved', 'reserved_at'])
      .where('realm', '=', realm)
      .where('subject', 'in', [user, address]),
)

/** What is stored under the two; undefined where nothing has failed yet. */
export const seenGuards = async (
  db: Kysely<Tables>,
  user: Guard,
  address: Guard,
): Promise<[SeenGuard | undefined, SeenGuard | undefined]> => {
  const rows = await bothRows(db, {
    realm: user.realm,
    user: user.subject,
    address: address.subject,
  })
  const of = ({ subject }: Guard) => rows.find((row) => row.subject === subject)
  return [of(user), of(address)]
}

const lockMs = (
  failures: number,
  factor: number,
  { maxFailureWaitSeconds, waitIncrementSeconds }: GuardSettings,
): number =>
  failures % factor === 0
    ? 1000 * Math.min(maxFailureWaitSeconds, waitIncrementSeconds * Math.floor(failures / factor))
    : 0

const firstFailure = (
  db: Kysely<Tables>,
  { realm, subject, factor, settings }: Guard,
  now: number,
) =>
  db.insertInto('login_guards').values({
    realm,
    subject,
    failures: 1,
    reserved: 0,
    reserved_at: 0,
    locked_until: factor === 1 ? now + lockMs(1, factor, settings) : 0,
    last_failure_at: now,
  })

/** One more than whatever there is. */
export const addressFailure = (
  db: Kysely<Tables>,
  guard: Guard,
  now: number,
  place: Place,
): Statement => {
  const { factor, settings } = guard
  const { waitIncrementSeconds: step, maxFailureWaitSeconds: most } = settings
  const failures = sql<number>`(${countedSince(forgottenBefore(settings, now))}) + 1`
  const seconds = sql`(${failures}) / ${factor} * ${step}`
  return statement(
    firstFailure(db, guard, now).onConflict((conflict) =>
      conflict.columns(['realm', 'subject']).doUpdateSet({
        failures,
        ...givenBack(place),
        last_failure_at: now,
        locked_until: sql<number>`case
          when (${failures}) % ${factor} <> 0 then login_guards.locked_until
          when ${seconds} > ${most} then ${now + most * 1000}
          else ${now} + (${seconds}) * 1000 end`,
      }),
    ),
  )
}

/**
 * The user's counter is compared and swapped, because the event of a lock is part of the same commit. `seen` are the
 * failures that still count; undefined where there is no row.
 */
export const userFailure = (
  db: Kysely<Tables>,
  guard: Guard,
  seen: number | undefined,
  now: number,
  place: Place,
): SettledFailure => {
  const { realm, subject, factor, settings } = guard
  const failures = (seen ?? 0) + 1
  const ms = lockMs(failures, factor, settings)
  const counted =
    seen === undefined
      ? firstFailure(db, guard, now).onConflict((conflict) => conflict.doNothing())
      : db
          .updateTable('login_guards')
          .where('realm', '=', realm)
          .where('subject', '=', subject)
          .where(countedSince(forgottenBefore(settings, now)), '=', seen)
          .set({
            failures,
            ...givenBack(place),
            last_failure_at: now,
            ...(ms > 0 ? { locked_until: now + ms } : {}),
          })
  return {
    statements: [guarded(counted, `failures:${subject}`)],
    lock: ms > 0 ? { ms, first: failures === factor } : undefined,
  }
}

/** Failed sign-ins are forgotten, and what they have locked is open. */
export const forgetGuards = (
  { db }: Pick<Storage, 'db'>,
  realm: string,
  subjects: readonly string[],
): Statement =>
  statement(
    db.deleteFrom('login_guards').where('realm', '=', realm).where('subject', 'in', subjects),
  )
