/** What a user is asked to decide: consent, account, organization, terms, devices and requests that wait. */

import type { FormPage, PageContext, StepPage } from './context.ts'
import { definePage } from './definition.ts'

/** What is known about an application that asks, beside its name. */
export interface ShownApplication {
  /** The host that the answer goes to; none for an app on the user's device. */
  readonly host?: string | undefined
  /** An https or data: URL. */
  readonly logo?: string | undefined
  readonly policyUrl?: string | undefined
  readonly termsUrl?: string | undefined
}

/** What an application asks for. */
interface WishPage extends FormPage {
  readonly application: string
  readonly username: string
  /** Whether it asks who the user is. */
  readonly identity: boolean
  /** Whether it may administer as the user may. */
  readonly administers: boolean
  /** What else it asks for, in words. */
  readonly scopes: readonly string[]
}

/** Whether an application may have what it asks for; posts `decision`, `allow`, `deny`, or `other` for another account. */
export interface ConsentPage extends WishPage, ShownApplication {}

/** With which account to go on; posts `decision`, `continue` or `other`. */
export interface AccountPage extends FormPage {
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

/** Where the code of a device is typed; posts `user_code`. */
export interface DevicePage extends FormPage {
  readonly username: string
  /** What was typed and is no code. */
  readonly wrong?: string | undefined
}

/** Whether a device may; the form posts `user_code` too. */
export interface DeviceConfirmPage extends WishPage {
  readonly userCode: string
}

export interface DeviceDonePage extends PageContext {
  readonly allowed: boolean
}

/** A request that waits for the user. */
export interface ApprovalWish {
  readonly id: string
  readonly application: string
  /** What the user sees where the request was made, too. */
  readonly message?: string | undefined
  readonly identity: boolean
  readonly scopes: readonly string[]
  readonly minutes: number
}

/** Each form posts `request` and `decision`, which is `allow` or `deny`. */
export interface ApprovalsPage extends FormPage {
  readonly username: string
  readonly wishes: readonly ApprovalWish[]
  readonly notice?: 'allowed' | 'denied' | 'gone' | undefined
}

export const decisionPages = {
  consent: definePage<ConsentPage>('consent', { images: ({ logo }) => (logo ? [logo] : []) }),
  account: definePage<AccountPage>('choose-account'),
  chooseOrganization: definePage<ChooseOrganizationPage>('choose-organization'),
  invitation: definePage<InvitationPage>('invitation'),
  terms: definePage<TermsPage>('terms'),
  device: definePage<DevicePage>('device'),
  deviceConfirm: definePage<DeviceConfirmPage>('device-confirm', { once: true }),
  deviceDone: definePage<DeviceDonePage>('device-done', { once: true }),
  approvals: definePage<ApprovalsPage>('approvals'),
}
