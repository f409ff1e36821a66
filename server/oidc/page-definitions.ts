/** The pages of the provider: consent, devices, requests that wait, signing out, and answers sent by a form. */

import type { FormPage, PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'

/** What is known about an application that asks, beside its name. */
export interface ShownApplication {
  /** The host that the answer goes to; none for an app on the user's device. */
  readonly host?: string | undefined
  /** The host of its client metadata document, which names it. */
  readonly documentHost?: string | undefined
  /** Whether any program on the user's device could be it. */
  readonly unproven?: boolean | undefined
  /** An https or data: URL. */
  readonly logo?: string | undefined
  readonly policyUrl?: string | undefined
  readonly termsUrl?: string | undefined
}

/** An application that acts for the user when the user is away. */
export interface ShownAgent {
  readonly name: string
  readonly description?: string | undefined
  /** Milliseconds since 1970; none where it goes on until the user withdraws. */
  readonly until?: number | undefined
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
  /** What of it is confirmed each time, in words. */
  readonly risky?: readonly string[] | undefined
}

/** Whether an application may have what it asks for; posts `decision`, `allow`, `deny`, or `other` for another account. */
export interface ConsentPage extends WishPage, ShownApplication {
  readonly agent?: ShownAgent | undefined
}

/** Whether an agent may have high-risk scopes this once; posts `decision`, `allow` or `deny`. */
export interface AgentConfirmPage extends FormPage {
  readonly username: string
  readonly agent: ShownAgent
  /** What it asks for, in words. */
  readonly risky: readonly string[]
  /** The services that the token would be for; none where it is for the usual ones. */
  readonly targets: readonly string[]
}

export interface AgentConfirmedPage extends PageContext {
  readonly agent: string
  readonly notice: 'allowed' | 'denied' | 'gone'
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
  readonly risky?: readonly string[] | undefined
  readonly minutes: number
}

/** Each form posts `request` and `decision`, which is `allow` or `deny`. */
export interface ApprovalsPage extends FormPage {
  readonly username: string
  readonly wishes: readonly ApprovalWish[]
  readonly notice?: 'allowed' | 'denied' | 'gone' | undefined
}

/** Whether the user wants to sign out, where nothing proves it. */
export interface SignOutPage extends FormPage {
  /** The requesting application, if known. */
  readonly application?: string | undefined
  readonly username: string
  /** Posted with the answer. */
  readonly fields: Readonly<Record<string, string>>
}

export interface SignedOutPage extends PageContext {
  readonly application?: string | undefined
  /** Where the browser goes on to. */
  readonly target?: string | undefined
  /** Pages of clients that sign the user out there; only their origins may be framed. */
  readonly frames: readonly string[]
}

/** A form that is sent on by a script, or by a button where there are none. */
export interface FormPostPage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

export const oidcPages = {
  consent: definePage<ConsentPage>('consent', { images: ({ logo }) => (logo ? [logo] : []) }),
  agentConfirm: definePage<AgentConfirmPage>('agent-confirm'),
  agentConfirmed: definePage<AgentConfirmedPage>('agent-confirmed', { once: true }),
  device: definePage<DevicePage>('device'),
  deviceConfirm: definePage<DeviceConfirmPage>('device-confirm', { once: true }),
  deviceDone: definePage<DeviceDonePage>('device-done', { once: true }),
  approvals: definePage<ApprovalsPage>('approvals'),
  signOut: definePage<SignOutPage>('sign-out', { once: true }),
  signedOut: definePage<SignedOutPage>('signed-out', {
    frames: ({ frames }) => frames,
    once: true,
  }),
  formPost: definePage<FormPostPage>('form-post', { script: () => 'submit', once: true }),
}

export type OidcPages = Pages & PagesOf<typeof oidcPages>
