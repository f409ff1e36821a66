/** The required action UPDATE_PASSWORD: the user chooses a new password during the sign-in. */

import type { AuditEvent } from '#server/audit/event.ts'
import { passwordOf } from '#server/credentials/credentials.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { type FieldErrors, passwordErrors } from '#server/http/pages/pages.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { PasswordIssueCode } from '#server/platform/passwords/policy.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { Users } from '#server/users/users.ts'
import {
  type AnswerContext,
  type Answered,
  type AskedPage,
  type Form,
  type RequiredAction,
  refused,
  type StepContext,
} from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

export interface NewPasswordParts {
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly users: Users
  readonly clock: Clock
}

interface Parts extends NewPasswordParts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
}

const id = 'UPDATE_PASSWORD'
const dayMs = 24 * 3600 * 1000

/** What is written beside the new password, before it. */
export interface PasswordChange {
  readonly event: 'UPDATE_CREDENTIAL' | 'RESET_PASSWORD'
  readonly emailVerified?: true | undefined
  readonly statements?: readonly Statement[] | undefined
  readonly events?: readonly AuditEvent[] | undefined
  /** Sessions end whatever the form says. */
  readonly endsSessions?: boolean | undefined
}

/** Takes a new password from the form of such a page, and passes the step with it. */
export const takeNewPassword = async (
  parts: NewPasswordParts,
  { user, settings, ...context }: AnswerContext,
  form: Form,
  { event, emailVerified, statements = [], events = [], endsSessions }: PasswordChange,
): Promise<Answered> => {
  if (!user) return refused('unavailable', 403)
  const values = { signOutOthers: form('signOutOthers') }
  const wrong = (errors: FieldErrors<string>): Answered => ({
    kind: 'refused',
    status: 400,
    errors,
    values,
  })
  const password = form('password')
  if (password !== form('passwordConfirm')) return wrong({ passwordConfirm: [{ id: 'mismatch' }] })
  const prepared = await parts.passwords.prepare(settings, user, password)
  if (prepared.errors.length > 0) {
    const issues = prepared.errors as readonly { readonly code: PasswordIssueCode }[]
    return wrong({ password: passwordErrors(issues, settings.passwordPolicy) })
  }
  return context.pass({
    statements: [
      ...completed(parts, user, id, emailVerified && { emailVerified }),
      ...statements,
      ...prepared.statements,
      ...(endsSessions || form('signOutOthers') === 'true'
        ? parts.sessions.revokeAllOf(user.id, context.handle)
        : []),
    ],
    events: [...events, ownEvent(context, user, event, 'password')],
  })
}

/** The box as the user has left it, where the page is shown again. */
export const signOutBox = ({ refusal }: AskedPage): boolean =>
  refusal?.values?.['signOutOthers'] === undefined || refusal.values['signOutOthers'] === 'true'

export const updatePassword = (parts: Parts): RequiredAction => {
  const { pages, storage, clock } = parts

  const isExpired = async ({ user, settings }: StepContext): Promise<boolean> => {
    const { forceExpiredPasswordChange: days } = settings.passwordPolicy
    if (!user || days === 0) return false
    const row = await passwordOf(storage, user.id)
    return row !== undefined && row.created_at < clock.now() - days * dayMs
  }

  return {
    id,
    isDue: isExpired,
    show: async (context) => {
      const reason = (await isExpired(context)) ? 'expired' : 'required'
      return {
        send: (reply, page) =>
          pages.updatePassword(reply, {
            ...page,
            username: context.user?.username ?? '',
            minLength: context.settings.passwordPolicy.length,
            reason,
            error: page.refusal?.error === 'unavailable' ? 'unavailable' : undefined,
            errors: page.refusal?.errors,
            signOutOthers: signOutBox(page),
          }),
      }
    },
    answer: (context, form) =>
      takeNewPassword(parts, context, form, { event: 'UPDATE_CREDENTIAL' }),
  }
}
