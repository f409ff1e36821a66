/**
 * The one way from a name and a password to a user, and from a further factor to the same user. Every endpoint that takes a
 * guessable value uses it, so that all attempts feed the same counters and no response differs from another.
 *
 * The work is the same whether the name is unknown, the password wrong or the user disabled: one look-up, one reservation,
 * one hash (decoys.ts decides on its cost), one commit. What a right password allows is committed together with the
 * counters and the audit event, and only if user and password are unchanged since the check.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userWhoMaySignIn } from '#server/users/user-rows.ts'
import type { LoginUser, Users } from '#server/users/users.ts'
import type { Accept, Attempt, AttemptResult, Checked } from './attempt.ts'
import { checkedAt, type DirectoryAccount, type DirectoryPasswords } from './directory-passwords.ts'
import type { BruteForce } from './guessing/brute-force.ts'
import type { LockNotice } from './guessing/lock-notice.ts'
import type { MovingReservation } from './guessing/moving-reservation.ts'
import type { Passwords } from './passwords/passwords.ts'
import { createTrials } from './trials.ts'

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
  readonly directories?: DirectoryPasswords | undefined
  /** How many attempts may be under way in this process. */
  readonly concurrency?: number
  /** How long an attempt waits for others to return their reservations. */
  readonly maxWaitMs?: number
}

export const createAuthenticator = ({
  storage,
  recorder,
  users,
  passwords,
  bruteForce,
  lockNotice,
  directories,
  concurrency,
  maxWaitMs,
}: AuthenticatorParts): Authenticator => {
  const whoMaySignIn = userWhoMaySignIn(storage.dialect)

  const stillAllowed = ({ id }: UserRow): Statement => ({
    ...whoMaySignIn(storage.db, { id }),
    expect: { rows: 1, guard: `user:${id}` },
  })

  const { tryOut } = createTrials({
    recorder,
    bruteForce,
    lockNotice,
    concurrency,
    maxWaitMs,
    stillAllowed,
  })

  const verified = (
    { realm, name, password }: Attempt,
    login: LoginUser | undefined,
  ): Promise<Checked> =>
    passwords.verify({ realm, name, userId: login?.user.id }, login?.password ?? null, password)

  /** The hash of a decoy is verified meanwhile: the time must not tell where a password is kept. */
  const askedElsewhere = async (
    attempt: Attempt,
    account: DirectoryAccount,
    recognise: MovingReservation['recognise'],
  ): Promise<Checked> => {
    const [answer] = await Promise.all([
      account.check(attempt.password, recognise),
      verified(attempt, undefined),
    ])
    return checkedAt(answer)
  }

  return {
    stillAllowed,

    attempt: (attempt, accept) => {
      const { realm, settings, name, address } = attempt
      return tryOut(
        {
          realm,
          settings,
          name,
          address,
          event: 'LOGIN_FAILURE',
          method: 'password',
          find: async () => {
            const withEmail = settings.loginWithEmailAllowed
            const login = await users.findByLogin(realm, name, { withEmail })
            return { login, account: await directories?.accountOf(attempt, login?.user) }
          },
          check: ({ login, account }, recognise) =>
            account ? askedElsewhere(attempt, account, recognise) : verified(attempt, login),
        },
        accept,
      )
    },

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
            return { login: user && { user, password: null } }
          },
          check,
        },
        accept,
      ),
  }
}
