/**
 * The one way from a name and a password to a user, and from a further factor to the same user: every door that takes
 * something that could be guessed goes through here, so that all feed the same counters and none can be told apart from outside.
 *
 * The work is the same whether the name is unknown, the password wrong or the user disabled: one look-up, one
 * reservation, one hash (decoys.ts tells of which cost), one commit. What a right password allows is committed together with the counters and
 * the audit event, and only if the user and the password are still what was checked.
 */

import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { AuditEvent, Recorder } from '#server/audit/audit.ts'
import { HasherBusyError } from '#server/platform/passwords/hasher.ts'
import {
  ConstraintError,
  GuardFailedError,
  type Statement,
  type Storage,
} from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { foldName, printable } from '#server/users/names.ts'
import { userWhoMaySignIn } from '#server/users/user-rows.ts'
import type { LoginUser, Users } from '#server/users/users.ts'
import type { BruteForce, Reservation } from './guessing/brute-force.ts'
import { addressSubject } from './guessing/guard-rows.ts'
import type { LockNotice } from './guessing/lock-notice.ts'
import { createKeyedSlots, createSlots, type Release } from './guessing/slots.ts'
import type { Passwords } from './passwords/passwords.ts'

export interface Attempt {
  readonly realm: string
  readonly settings: SettingsDoc
  readonly name: string
  readonly password: string
  readonly address: string
}

/** A second factor of an identified user: a code, a key. */
export interface Proof {
  readonly realm: string
  readonly settings: SettingsDoc
  readonly user: UserRow
  readonly address: string
  /** What is proved by, as the audit event names it. */
  readonly method: string
  /** Whether it is asked beside something else. */
  readonly factor: boolean
  /** Statements use the proof up; they are committed with what it allows. */
  readonly check: () => Promise<Checked>
}

export interface Checked {
  readonly matches: boolean
  readonly statements: readonly Statement[]
}

/** What a right password or proof allows: committed in one transaction with the attempt. */
export interface Acceptance<T> {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
  readonly value: T
  /**
   * True while further factors are required. Only a complete sign-in resets the failures: otherwise an attacker with the
   * password could reset the count of wrong codes with it, and guess codes without limit.
   */
  readonly partial?: boolean
  /** A guard among the statements that fails when the same sign-in went on elsewhere: no failure of the user. */
  readonly ownGuard?: string
}

export type Accept<T> = (user: UserRow) => Acceptance<T> | Promise<Acceptance<T>>

export type AttemptResult<T> =
  | { readonly outcome: 'success'; readonly user: UserRow; readonly value: T }
  /** For whatever reason: the caller is not told, so that it cannot tell. */
  | { readonly outcome: 'failure' }
  /** Nothing was evaluated: too many sign in at once. */
  | { readonly outcome: 'busy' }

export interface Authenticator {
  attempt<T>(attempt: Attempt, accept: Accept<T>): Promise<AttemptResult<T>>
  prove<T>(proof: Proof, accept: Accept<T>): Promise<AttemptResult<T>>
  /** Fails the guard `user:<id>` when the user may not sign in any more; for what asks no proof. */
  stillAllowed(user: UserRow): Statement
}

export interface AuthenticatorParts {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly recorder: Recorder
  readonly users: Users
  readonly passwords: Passwords
  readonly bruteForce: BruteForce
  readonly lockNotice?: LockNotice
  /** How many attempts may be under way in this process. */
  readonly concurrency?: number
  /** How long an attempt waits for others to return their reservations. */
  readonly maxWaitMs?: number
}

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

type FailureReason =
  | 'unknown-user'
  | `wrong-${string}`
  | 'user-disabled'
  | 'user-locked'
  | 'changed-meanwhile'
  | 'too-many-failures'

/** One try, by whatever it is made. */
interface Trial {
  readonly realm: string
  readonly settings: SettingsDoc
  readonly name: string
  readonly address: string
  readonly event: 'LOGIN_FAILURE' | 'MFA_FAILURE'
  readonly method: string
  readonly find: () => Promise<LoginUser | undefined>
  readonly check: (login: LoginUser | undefined) => Promise<Checked>
}

export const createAuthenticator = ({
  storage,
  recorder,
  users,
  passwords,
  bruteForce,
  lockNotice,
  concurrency = PER_CORE * availableParallelism(),
  maxWaitMs = MAX_WAIT_MS,
}: AuthenticatorParts): Authenticator => {
  const whoMaySignIn = userWhoMaySignIn(storage.dialect)

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

  const stillAllowed = ({ id }: UserRow): Statement => ({
    ...whoMaySignIn(storage.db, { id }),
    expect: { rows: 1, guard: `user:${id}` },
  })

  const settle = async <T>(
    trial: Trial,
    login: LoginUser | undefined,
    checked: Checked,
    reservation: Reservation,
    accept: Accept<T>,
  ): Promise<AttemptResult<T>> => {
    const reason = refusalOf(login, checked.matches, trial.method)
    if (login === undefined || reason !== undefined)
      return fail(trial, login, reservation, reason ?? 'unknown-user')
    const accepted = await accept(login.user)
    const { statements, events, value, partial = false, ownGuard } = accepted
    try {
      await recorder.commit(
        [
          stillAllowed(login.user),
          ...checked.statements,
          ...(partial ? reservation.released() : reservation.succeeded()),
          ...statements,
        ],
        events,
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
    const login = await trial.find()
    const reservation = await bruteForce.reserve({ ...trial, userId: login?.user.id })
    if (reservation === 'taken') return undefined
    if (reservation === 'locked') {
      await recorder.append([], [failureEvent(trial, login, 'too-many-failures')])
      return { outcome: 'failure' }
    }
    try {
      return await settle(trial, login, await trial.check(login), reservation, accept)
    } catch (error) {
      // What goes wrong here must not hide the first error; an unreturned reservation ends by itself.
      await recorder.commit(reservation.released(), []).catch(() => undefined)
      if (error instanceof HasherBusyError) return busy
      throw error
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

  return {
    stillAllowed,

    attempt: ({ realm, settings, name, password, address }, accept) =>
      tryOut(
        {
          realm,
          settings,
          name,
          address,
          event: 'LOGIN_FAILURE',
          method: 'password',
          find: () => users.findByLogin(realm, name, { withEmail: settings.loginWithEmailAllowed }),
          check: (login) =>
            passwords.verify(
              { realm, name, userId: login?.user.id },
              login?.password ?? null,
              password,
            ),
        },
        accept,
      ),

    prove: ({ realm, settings, user: { id, username }, address, method, factor, check }, accept) =>
      tryOut(
        {
          realm,
          settings,
          name: username,
          address,
          event: factor ? 'MFA_FAILURE' : 'LOGIN_FAILURE',
          method,
          find: async () => {
            const user = await users.find(realm, id)
            return user && { user, password: null }
          },
          check,
        },
        accept,
      ),
  }
}

/** A guard or a foreign key on a deleted user fails, depending on the database. */
const isChange = (error: unknown): boolean =>
  error instanceof GuardFailedError || isForeignKey(error)

const isForeignKey = (error: unknown): error is ConstraintError =>
  error instanceof ConstraintError && error.constraint === 'foreign-key'

const isGuard = (error: unknown, guard: string | undefined): boolean =>
  error instanceof GuardFailedError && error.guard === guard

const busy = { outcome: 'busy' } as const

/** Asked after the hash, never before: the time must not tell. */
const refusalOf = (
  login: LoginUser | undefined,
  matches: boolean,
  method: string,
): FailureReason | undefined => {
  if (login === undefined) return 'unknown-user'
  if (!matches) return `wrong-${method}`
  if (login.user.enabled !== 1) return 'user-disabled'
  if (login.user.locked !== 1) return undefined
  return 'user-locked'
}
