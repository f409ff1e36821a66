/** The page where the password is changed. */

import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { passwordErrors } from '#server/http/pages/pages.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { PasswordIssueCode } from '#server/platform/passwords/policy.ts'
import { type ChangePassword, passwordType } from '../credentials/password.ts'
import type { AccountPasswordPage, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface PasswordPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly factors: Pick<Factors, 'has'>
  readonly change: ChangePassword
}

type Told = Pick<Partial<AccountPasswordPage>, 'errors' | 'error' | 'status' | 'signOutOthers'>

const path = '/password'

export const passwordPage = (parts: PasswordPageParts): AccountPage => {
  const { pages, frame, factors, change } = parts

  const show = async (visit: UserVisit, told: Told = {}) =>
    pages.accountPassword(visit.reply, {
      ...(await frame(visit, path)),
      hasPassword: await factors.has(visit.user.id, [passwordType]),
      minLength: visit.issuer.settings.passwordPolicy.length,
      ...told,
    })

  /** Throws what is about something else than the fields. */
  const toldOf = ({ issuer }: UserVisit, error: unknown): Told => {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'unavailable') return { error: 'unavailable', status: error.status }
    if (error.code !== 'validation') throw error
    const isCurrent = error.errors.some(({ field }) => field === '/currentPassword')
    const issues = error.errors as readonly { readonly code: PasswordIssueCode }[]
    return {
      status: error.status,
      errors: isCurrent
        ? { currentPassword: [{ id: 'wrong-password' }] }
        : { password: passwordErrors(issues, issuer.settings.passwordPolicy) },
    }
  }

  return {
    path,
    section: 'password',
    name: 'password-page',
    summary: 'Changes the password of the user',
    show: (visit) => show(visit),
    fields: ['currentPassword', 'password', 'passwordConfirm', 'signOutOthers'],
    events: ['UPDATE_CREDENTIAL', 'LOGIN_FAILURE', 'USER_LOCKED'],
    submit: async (visit, form) => {
      const newPassword = form.get('password') ?? ''
      const signOutOthers = form.get('signOutOthers') === 'true'
      if (newPassword !== (form.get('passwordConfirm') ?? ''))
        return show(visit, {
          errors: { passwordConfirm: [{ id: 'mismatch' }] },
          status: 400,
          signOutOthers,
        })
      try {
        await change(selfOf(visit), {
          currentPassword: form.get('currentPassword') ?? '',
          newPassword,
          signOutOthers,
        })
      } catch (error) {
        return show(visit, { ...toldOf(visit, error), signOutOthers })
      }
      return goTo(visit, path, 'saved')
    },
  }
}
