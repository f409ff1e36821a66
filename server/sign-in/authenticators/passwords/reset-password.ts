/** A new password for a user who was authenticated by other means. */

import { ownEvent } from '../../actions/completed.ts'
import {
  type NewPasswordParts,
  type PasswordChange,
  signOutBox,
  takeNewPassword,
} from '../../actions/update-password.ts'
import { refused, type Step, type StepContext } from '../../flow/step.ts'
import type { Administrators } from '../../messages/administrators.ts'
import { type TakeOverParts, takeOver } from '../../messages/taken-over.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts extends NewPasswordParts, TakeOverParts {
  readonly pages: SignInPages
  readonly sessions: NewPasswordParts['sessions']
  readonly administrators: Administrators
}

/**
 * A reset by mail to an unverified address ends all other access: only the owner of the mailbox has the account afterwards.
 * Another proof beside the mail shows that the account was the owner's before.
 */
const changeOf = (parts: Parts, context: StepContext): PasswordChange => {
  const event = 'RESET_PASSWORD'
  const { user, state } = context
  if (user?.email_verified !== 0) return { event }
  if (state.readAddress === undefined) return { event, endsSessions: true }
  const verified = ownEvent(context, user, 'VERIFY_EMAIL', 'email')
  const read = { event, endsSessions: true, emailVerified: true } as const
  if (state.beyondMessages === true || state.amr.includes('sms'))
    return { ...read, events: [verified] }
  const { credentials, access, events } = takeOver(parts, context, user)
  return { ...read, statements: [...credentials, ...access], events: [verified, ...events] }
}

export const resetPassword = (parts: Parts): Step => ({
  id: 'reset-password',
  afterProof: true,
  suits: async (context) => !(await parts.administrators.needsMore(context)),
  show: async ({ user, settings }) => ({
    send: (reply, page) =>
      parts.pages.resetPassword(reply, {
        ...page,
        username: user?.username ?? '',
        minLength: settings.passwordPolicy.length,
        error: page.refusal?.error === 'expired' ? 'expired' : undefined,
        errors: page.refusal?.errors,
        signOutOthers: signOutBox(page),
      }),
  }),
  answer: async (context, form) => {
    const { user, state } = context
    // The mail proves nothing about an address that the account got after the mail was read.
    if (state.readAddress !== undefined && state.readAddress !== user?.email_key)
      return refused('expired', 403)
    return takeNewPassword(parts, context, form, changeOf(parts, context))
  },
})
