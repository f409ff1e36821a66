/** What a user is asked to choose or accept while signing in: an account, an organization, an invitation, terms. */

import type { FormPage, PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { StepPage } from './step-page.ts'

/** With which account to go on; posts `decision`, `continue` or `other`. */
export interface ChooseAccountPage extends FormPage {
  readonly application: string
  readonly username: string
  readonly name?: string | undefined
}

/** For which organization; posts `organization`, an id, or nothing for none of them. */
export interface ChooseOrganizationPage extends StepPage {
  readonly organizations: readonly { readonly id: string; readonly name: string }[]
  /** Whether one may go on without any. */
  readonly optional?: boolean | undefined
}

/** Where the link of an invitation leads to, and what is to be done about it. */
export interface InvitationPage extends PageContext {
  /** `other-account`: the invitation is for another account than the signed-in one. */
  readonly what: 'sign-in' | 'register' | 'accept' | 'other-account' | 'accepted'
  readonly organization: string
  /** The address that was invited. */
  readonly email: string
  /** The signed-in user. */
  readonly username?: string | undefined
  /** For `accept`: the form posts `_csrf` and `decision=accept`. */
  readonly form?: Pick<FormPage, 'action' | 'csrf'> | undefined
  /** For the others: where to go on. */
  readonly continueUrl?: string | undefined
}

/** Posts `decision`, `accept` or `decline`. */
export interface TermsPage extends StepPage {
  /** Plain text; line breaks are kept. */
  readonly text?: string | undefined
  readonly url?: string | undefined
}

export const choicePages = {
  account: definePage<ChooseAccountPage>('choose-account'),
  chooseOrganization: definePage<ChooseOrganizationPage>('choose-organization'),
  invitation: definePage<InvitationPage>('invitation'),
  terms: definePage<TermsPage>('terms'),
}
