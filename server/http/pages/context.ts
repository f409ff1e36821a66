/** The data of every page. */

import type { Branding } from './branding.ts'

export interface PageContext {
  /** Name of the realm, used if there is no display name. */
  readonly realm: string
  readonly branding?: Branding | undefined
  /** One of `Pages.locales`; English when absent or unknown. */
  readonly locale?: string | undefined
  /** The languages that the page can be switched to; with less than two there is no switch. */
  readonly locales?: readonly string[] | undefined
  readonly status?: number | undefined
  /**
   * Origins or schemes besides our own that the page's form may lead to. Browsers hold a redirect that
   * follows a form to `form-action` too, so an authorize flow names its client's redirect URI here.
   */
  readonly formTargets?: readonly string[] | undefined
  /** The user is impersonated: each page shows a banner, whose form posts `_csrf` to end it. */
  readonly impersonation?: Impersonation | undefined
}

export interface Impersonation {
  readonly by: string
  readonly username: string
  readonly action: string
  readonly csrf: string
}

/** A page of a sign-in. */
export interface SignInPage {
  /** The name of the application that the user signs in to, where one waits. */
  readonly application?: string | undefined
}

export interface FormPage extends PageContext {
  /** Where the forms of the page post `_csrf` and their own fields to. */
  readonly action: string
  readonly csrf: string
}

/**
 * A step of a sign-in. Besides its own form it may have buttons that post `step` instead: `restart` for another
 * account, `other` for another method, `resend` for a new message, `cancel` to leave it out.
 */
export interface StepPage extends FormPage {
  readonly username?: string | undefined
  readonly canRestart?: boolean | undefined
  readonly hasOthers?: boolean | undefined
  readonly error?: StepError | undefined
}

/** Ids of messages; a locked user and a wrong answer are the same message on purpose. */
export type StepError =
  | 'wrong-code'
  | 'used-code'
  | 'expired-code'
  | 'not-recognised'
  | 'denied'
  | 'too-many'
  | 'expired'
  | 'unavailable'
