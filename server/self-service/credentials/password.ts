/** The user's own password. A guess at the present one counts as one at the sign-in page. */

import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { completed } from '#server/sign-in/actions/completed.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Users } from '#server/users/users.ts'
import { objectOf } from '../description.ts'
import { nothing, type Operation, withBody } from '../operation.ts'
import { type Self, selfEvent } from '../self.ts'
import { insistOnRecentStrength, insistOnStrength } from './strength.ts'

export interface PasswordParts {
  readonly authenticator: Authenticator
  readonly passwords: Passwords
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly clock: Clock
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly users: Users
}

export interface PasswordChange {
  readonly currentPassword?: string
  readonly newPassword: string
  /** Ends every other session, and what was issued in them. */
  readonly signOutOthers?: boolean
}

const passwordText = { type: 'string', minLength: 1, maxLength: 4096 }

const passwordBody = objectOf(
  {
    currentPassword: { ...passwordText, description: 'Of a user who has one.' },
    newPassword: passwordText,
    signOutOthers: { type: 'boolean' },
  },
  ['newPassword'],
)

const wrongPassword = (field: string): FieldError => ({
  field,
  code: 'wrong-password',
  message: 'is not the present password',
})

export const passwordType = 'password'

/** Throws unless the password is the user's; what it allows is committed together with the attempt. */
export const createProvePassword =
  ({ authenticator }: { readonly authenticator: Authenticator }) =>
  async <T>(
    { issuer, user, address }: Self,
    password: string,
    field: string,
    accept: Parameters<typeof authenticator.attempt<T>>[1],
  ): Promise<T> => {
    const { name: realm, settings } = issuer
    const attempt = { realm, settings, name: user.username, password, address }
    const result = await authenticator.attempt(attempt, accept)
    if (result.outcome === 'busy')
      throw new Problem('unavailable', 'too many sign in at once; try again', {
        extra: { retryAfter: 5 },
      })
    if (result.outcome === 'away')
      throw new Problem(
        'unavailable',
        `the directory "${result.directory}" cannot be asked; try again`,
        { extra: { retryAfter: 5 } },
      )
    if (result.outcome === 'failure') throw invalid([wrongPassword(field)])
    return result.value
  }

export const createChangePassword = (parts: PasswordParts) => {
  const { passwords, factors, sessions, recorder, jobs } = parts
  const prove = createProvePassword(parts)

  return async (self: Self, change: PasswordChange): Promise<void> => {
    const { issuer, user } = self
    const { currentPassword, newPassword, signOutOthers = false } = change
    await insistOnStrength(parts, self)

    const changing = async () => {
      const { statements, errors } = await passwords.prepare(issuer.settings, user, newPassword)
      return {
        errors,
        statements: [
          ...completed(parts, user, 'UPDATE_PASSWORD'),
          ...statements,
          ...(signOutOthers ? sessions.revokeOthersOf(user.id, self.sid) : []),
        ],
        events: [selfEvent(self, 'UPDATE_CREDENTIAL', passwordType)],
      }
    }
    const insistOn = (errors: readonly FieldError[]): void => {
      if (errors.length > 0) throw invalid(errors)
    }

    if (await factors.has(user.id, [passwordType])) {
      if (currentPassword === undefined)
        throw invalid([{ field: '/currentPassword', code: 'required', message: 'is missing' }])
      // Only then is the new one looked at: whether it was used before would tell what the present one is.
      const errors = await prove(self, currentPassword, '/currentPassword', async () => {
        const { errors: found, ...made } = await changing()
        return found.length > 0
          ? { statements: [], events: [], value: found, partial: true }
          : { ...made, value: found, partial: true }
      })
      insistOn(errors)
    } else {
      await insistOnRecentStrength(parts, self)
      const { errors, statements, events } = await changing()
      insistOn(errors)
      await recorder.commit(statements, events)
    }
    if (signOutOthers) jobs.wake(logoutQueue)
  }
}

export const passwordOperations = (change: ChangePassword): Operation[] => [
  withBody<PasswordChange>(passwordBody, {
    method: 'PUT',
    path: '/password',
    operationId: 'replace-own-password',
    summary: 'Changes the password, by the present one; others may be signed out by it',
    replies: { 204: nothing },
    refusals: [400, 401, 403, 404, 503],
    events: ['UPDATE_CREDENTIAL', 'LOGIN_FAILURE', 'USER_LOCKED'],
    handle: change,
  }),
]

export type ChangePassword = ReturnType<typeof createChangePassword>
