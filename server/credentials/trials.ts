/**
 * A trial of a secret, whatever the secret is: it waits for its turn, reserves an attempt, checks, and commits the outcome
 * together with the counters and the audit event.
 */

import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { HasherBusyError } from '#server/platform/passwords/hasher.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { foldName, printable } from '#server/users/names.ts'
import type { LoginUser } from '#server/users/users.ts'
import type { Accept, AttemptResult, Checked } from './attempt.ts'
import { type DirectoryAccount, DirectoryUnavailable } from './directory-passwords.ts'
import type { BruteForce, Reservation } from './guessing/brute-force.ts'
import { addressSubject } from './guessing/guard-rows.ts'
import type { LockNotice } from './guessing/lock-notice.ts'
import {
  type MovingReservation,
  movingReservation,
  TakenByOthers,
} from './guessing/moving-reservation.ts'
import { createKeyedSlots, createSlots, type Release } from './guessing/slots.ts'
import {
  belowLock,
  type FailureReason,
  isChange,
  isForeignKey,
  isGuard,
  mustChange,
  refusalOf,
} from './refusals.ts'

/** More than the hasher takes for a core: others wait for the disk meanwhile. */
const PER_CORE = 56
const MAX_WAITING = 1000
const MAX_WAIT_MS = 10_000
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 100
/** More at once for one name only wait for each other's reservations. */
const PER_NAME = 12
/** How many attempts from one address may wait for each other's reservations. */
const PER_ADDRESS = 16
/** How often a failure is counted again because others were counted meanwhile. */
const MAX_SETTLES = 100

/** One attempt, with any kind of secret. */
interface Trial {
  readonly realm: string
  readonly settings: SettingsDoc
  readonly name: string
  readonly address: string
  readonly event: 'LOGIN_FAILURE' | 'MFA_FAILURE'
  readonly method: string
  readonly find: () => Promise<Found>
  readonly check: (found: Found, recognise: MovingReservation['recognise']) => Promise<Checked>
}

interface Found {
  readonly login: LoginUser | undefined
  /** Of a password that a directory keeps. */
  readonly account?: DirectoryAccount | undefined
}

interface TrialParts {
  readonly recorder: Recorder
  readonly bruteForce: BruteForce
  readonly lockNotice?: LockNotice | undefined
  /** How many attempts may be under way in this process. */
  readonly concurrency?: number | undefined
  /** How long an attempt waits for others to return their reservations. */
  readonly maxWaitMs?: number | undefined
  /** Fails the guard `user:<id>` when the user may not sign in any more. */
  readonly stillAllowed: (user: UserRow) => Statement
}

const busy = { outcome: 'busy' } as const

/** Tries one secret; every trial of a process takes its turn among the others. */
export const createTrials = ({
  recorder,
  bruteForce,
  lockNotice,
  concurrency = PER_CORE * availableParallelism(),
  maxWaitMs = MAX_WAIT_MS,
  stillAllowed,
}: TrialParts) => {
  // Few reservations are in flight at any time: an attempt reserves when it is its turn to hash, not before.
  const slots = createSlots(concurrency, MAX_WAITING)
  const perName = createKeyedSlots(Math.min(concurrency, PER_NAME), MAX_WAITING)
  const perAddress = createKeyedSlots(Math.max(concurrency, PER_ADDRESS), MAX_WAITING)

  const failureEvent = (
    trial: Trial,
    login: LoginUser | undefined,
    detail: FailureReason,
  ): AuditEvent => ({
    type: trial.event,
    realm: trial.realm,
    actor: login?.user.id ?? printable(trial.name, 255),
    sourceIp: trial.address,
    outcome: 'FAILURE',
    detail,
  })

  const fail = async (
    trial: Trial,
    login: LoginUser | undefined,
    reservation: Reservation,
    reason: FailureReason,
  ): Promise<{ outcome: 'failure' }> => {
    for (let tries = 1; ; tries += 1) {
      const { statements, lock } = await reservation.failed()
      const failure = failureEvent(trial, login, reason)
      const { detail: _detail, ...common } = failure
      const locked: AuditEvent[] =
        lock && login
          ? [{ ...common, type: 'USER_LOCKED', resourceType: 'users', resourceId: login.user.id }]
          : []
      const letter = (lock && login && lockNotice?.statements(trial.realm, login.user, lock)) ?? []
      try {
        await recorder.commit([...statements, ...letter], [failure, ...locked])
        if (letter.length > 0) lockNotice?.wake()
        return { outcome: 'failure' }
      } catch (error) {
        // The realm is gone, and what is counted and recorded of it.
        if (isForeignKey(error) && error.table === 'login_guards') return { outcome: 'failure' }
        if (!(error instanceof GuardFailedError) || tries === MAX_SETTLES) throw error
      }
    }
  }

  const settle = async <T>(
    trial: Trial,
    known: LoginUser | undefined,
    checked: Checked,
    reservation: Reservation,
    accept: Accept<T>,
  ): Promise<AttemptResult<T>> => {
    const { user: found, first = [], events: foundEvents = [], refusal } = checked.found ?? {}
    const login = found ? { user: found, password: null } : known
    const reason = refusal?.reason ?? refusalOf(login, checked.matches, trial.method)
    if (login === undefined || reason !== undefined) {
      const failure = await fail(trial, login, reservation, reason ?? 'unknown-user')
      return refusal && mustChange.has(refusal.reason)
        ? { ...failure, changeAt: refusal.directory }
        : failure
    }
    const accepted = await accept(login.user, checked.found !== undefined)
    const { statements, events, value, partial = false, ownGuard } = accepted
    try {
      await recorder.commit(
        [
          ...first,
          stillAllowed(login.user),
          ...checked.statements,
          ...(partial ? reservation.released() : reservation.succeeded()),
          ...statements,
        ],
        [...foundEvents, ...events],
      )
      return { outcome: 'success', user: login.user, value }
    } catch (error) {
      if (!isChange(error) || isGuard(error, ownGuard)) throw error
      return fail(trial, login, reservation, 'changed-meanwhile')
    }
  }

  /** Undefined when others hold every reservation. */
  const once = async <T>(
    trial: Trial,
    accept: Accept<T>,
  ): Promise<AttemptResult<T> | undefined> => {
    const found = await trial.find()
    const { login } = found
    const settings = belowLock(trial.settings, found.account?.mostFailures)
    const claim = { ...trial, settings, userId: login?.user.id }
    const reserved = await bruteForce.reserve(claim)
    if (reserved === 'taken') return undefined
    if (reserved === 'locked') {
      await recorder.append([], [failureEvent(trial, login, 'too-many-failures')])
      return { outcome: 'failure' }
    }
    const reservation = movingReservation(reserved, claim, { bruteForce, recorder })
    try {
      const checked = await trial.check(found, reservation.recognise)
      return await settle(trial, login, checked, reservation, accept)
    } catch (error) {
      if (error instanceof TakenByOthers) return undefined
      // What goes wrong here must not hide the first error; an unreturned reservation ends by itself.
      await recorder.commit(reservation.released(), []).catch(() => undefined)
      if (error instanceof HasherBusyError) return busy
      if (!(error instanceof DirectoryUnavailable)) throw error
      await recorder.append([], [failureEvent(trial, login, 'directory-unavailable')])
      return { outcome: 'away', directory: error.directory }
    } finally {
      reservation.end()
    }
  }

  /** Gives the turn to others while it waits for a reservation. */
  const inTurn = async <T>(trial: Trial, accept: Accept<T>): Promise<AttemptResult<T>> => {
    const giveUp = performance.now() + maxWaitMs
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
      const release = await slots.acquire()
      if (release === undefined) return busy
      try {
        const result = await once(trial, accept)
        if (result !== undefined) return result
      } finally {
        release()
      }
      if (performance.now() >= giveUp) return busy
      await pause(wait * (0.5 + Math.random()))
    }
  }

  const tryOut = async <T>(trial: Trial, accept: Accept<T>): Promise<AttemptResult<T>> => {
    const { realm, name, address } = trial
    const places: Release[] = []
    try {
      for (const place of [
        () => perName.acquire(`${realm} ${foldName(name)}`),
        () => perAddress.acquire(`${realm} ${addressSubject(address)}`),
      ]) {
        const release = await place()
        if (release === undefined) return busy
        places.push(release)
      }
      return await inTurn(trial, accept)
    } finally {
      for (const release of places) release()
    }
  }

  return { tryOut }
}
