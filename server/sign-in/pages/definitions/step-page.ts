/** Shared data of the pages of a sign-in. */

import type { FormPage } from '#server/http/pages/context.ts'

/** A page of a sign-in. */
export interface SignInPage {
  /** The name of the application that the user signs in to, where one waits. */
  readonly application?: string | undefined
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
