/** Registration, recovery of an account, and what a user must do before going on. */

import type { FormPage, PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { FieldErrors } from '#server/http/pages/field-errors.ts'
import type { SignInPage, StepPage } from './step-page.ts'

/** Told under the field of a new password. */
export interface PasswordHints {
  readonly minLength?: number | undefined
}

export type RegisterField = 'username' | 'email' | 'firstName' | 'lastName' | 'password' | 'terms'

/** Posts what `RegisterField` names; `terms` is `true`. */
export interface RegisterPage extends FormPage, SignInPage, PasswordHints {
  /** Absent where the email address is the username. */
  readonly asksUsername?: boolean | undefined
  /** Whether the address is known and not to be changed. */
  readonly emailGiven?: boolean | undefined
  /** Shows the box `terms`, which must be ticked. */
  readonly termsUrl?: string | undefined
  readonly values?: Readonly<Partial<Record<RegisterField, string>>> | undefined
  readonly errors?: FieldErrors<RegisterField> | undefined
  /** For the form as a whole. */
  readonly error?: 'expired' | 'too-many' | 'unavailable' | undefined
  readonly loginUrl?: string | undefined
}

/** Posts `username`. */
export interface ForgotPasswordPage extends FormPage, SignInPage {
  readonly username?: string | undefined
  readonly emailAllowed?: boolean | undefined
  readonly error?: 'expired' | 'too-many' | 'unavailable' | undefined
  readonly loginUrl?: string | undefined
}

/** The same whether there is such an account or not. */
export interface ForgotSentPage extends PageContext {
  readonly loginUrl?: string | undefined
}

export interface SignOutBox {
  /** The state of the box `signOutOthers`, which is ticked unless the user has changed it. */
  readonly signOutOthers?: boolean | undefined
}

export type NewPasswordField = 'password' | 'passwordConfirm'

/** Posts `password`, `passwordConfirm` and, if ticked, `signOutOthers=true`. */
export interface NewPasswordPage extends Omit<StepPage, 'error'>, PasswordHints, SignOutBox {
  readonly username: string
  readonly errors?: FieldErrors<NewPasswordField> | undefined
  readonly error?: 'expired' | 'too-many' | 'unavailable' | undefined
}

export interface UpdatePasswordPage extends NewPasswordPage {
  /** Why; `expired` by age, `required` by an administrator. */
  readonly reason?: 'expired' | 'required' | undefined
}

/** Waits for the address to be verified; posts `code` where one was sent, or `step=resend`. */
export interface VerifyEmailPage extends StepPage {
  readonly email: string
  readonly asksCode?: boolean | undefined
  readonly resent?: boolean | undefined
}

export type ProfileField = 'username' | 'email' | 'firstName' | 'lastName'

/** Posts what `ProfileField` names. */
export interface UpdateProfilePage extends FormPage {
  readonly asksUsername?: boolean | undefined
  readonly values: Readonly<Partial<Record<ProfileField, string>>>
  readonly errors?: FieldErrors<ProfileField> | undefined
}

/** Something is done, and nothing is left to do here. */
export interface DonePage extends PageContext {
  readonly what:
    | 'email-verified'
    | 'password-changed'
    | 'registered'
    | 'sign-in-approved'
    | 'sign-in-denied'
    | 'link-sign-in'
    | 'deletion-requested'
    | 'account-deleted'
    | 'email-restored'
    | 'email-restored-administrator'
    | 'email-restored-no-reset'
  readonly continueUrl?: string | undefined
}

export const registrationPages = {
  register: definePage<RegisterPage>('register'),
  forgotPassword: definePage<ForgotPasswordPage>('forgot-password'),
  forgotSent: definePage<ForgotSentPage>('forgot-sent', { once: true }),
  resetPassword: definePage<NewPasswordPage>('reset-password'),
  updatePassword: definePage<UpdatePasswordPage>('update-password'),
  verifyEmail: definePage<VerifyEmailPage>('verify-email'),
  updateProfile: definePage<UpdateProfilePage>('update-profile'),
  done: definePage<DonePage>('done', { once: true }),
}
