/** The pages of the account. Times are milliseconds since 1970. */

import type { FormPage } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { FieldErrors } from '#server/http/pages/field-errors.ts'
import type { Pages, PagesOf } from '#server/http/pages/pages.ts'
import { enrolmentPages } from '#server/sign-in/pages/definitions/enrolment.ts'
import { factorPages } from '#server/sign-in/pages/definitions/factors.ts'
import {
  type PasswordHints,
  type ProfileField,
  registrationPages,
  type SignOutBox,
} from '#server/sign-in/pages/definitions/registration.ts'
import type { ActingAgent, OwnedAgent, WaitingAgent } from '../agents.ts'
import type { PortalApplication } from '../portal.ts'
import type { SharingRecord } from '../sharing.ts'

export type AccountSection =
  | 'profile'
  | 'password'
  | 'factors'
  | 'sessions'
  | 'identities'
  | 'applications'
  | 'sharing'
  | 'agents'
  | 'data'

export interface AccountSectionPage extends FormPage {
  readonly username: string
  readonly name?: string | undefined
  /** The sections of the menu and their addresses, in order. */
  readonly sections: readonly { readonly id: AccountSection; readonly url: string }[]
  /** Where the sign-out form posts `_csrf` to. */
  readonly signOutUrl?: string | undefined
  readonly notice?: 'saved' | 'removed' | 'ended' | 'added' | 'mail-sent' | undefined
  readonly error?:
    | 'expired'
    | 'sign-in-again'
    | 'last-factor'
    | 'last-way-in'
    | 'unavailable'
    | undefined
}

/** Posts what `ProfileField` names. */
export interface AccountProfilePage extends AccountSectionPage {
  readonly asksUsername?: boolean | undefined
  readonly values: Readonly<Partial<Record<ProfileField, string>>>
  readonly emailVerified?: boolean | undefined
  readonly errors?: FieldErrors<ProfileField> | undefined
}

export type AccountPasswordField = 'currentPassword' | 'password' | 'passwordConfirm'

/** Posts what `AccountPasswordField` names and, if ticked, `signOutOthers=true`. */
export interface AccountPasswordPage extends AccountSectionPage, PasswordHints, SignOutBox {
  /** Absent where the user has none yet. */
  readonly hasPassword?: boolean | undefined
  readonly errors?: FieldErrors<AccountPasswordField> | undefined
}

export interface OwnFactor {
  readonly id: string
  readonly kind: 'totp' | 'webauthn' | 'passkey' | 'recovery-codes' | 'push'
  readonly label?: string | undefined
  readonly createdAt: number
  readonly lastUsedAt?: number | undefined
  /** Codes that are left, of recovery codes. */
  readonly left?: number | undefined
}

/** Posts `remove`, the id of a factor, or `add`, one of the kinds that can be added. */
export interface AccountFactorsPage extends AccountSectionPage {
  readonly factors: readonly OwnFactor[]
  readonly addable: readonly OwnFactor['kind'][]
}

export interface OwnSession {
  readonly id: string
  /** As words: "Firefox, Linux". */
  readonly browser?: string | undefined
  readonly ipAddress: string
  readonly startedAt: number
  readonly lastUsedAt: number
  readonly applications?: readonly string[] | undefined
  readonly current?: boolean | undefined
  /** The administrator who acts as the user in it. */
  readonly impersonator?: string | undefined
}

/** Posts `end`, the id of a session, or `others` for all but this one. */
export interface AccountSessionsPage extends AccountSectionPage {
  readonly list: readonly OwnSession[]
}

export interface OwnIdentity {
  readonly id: string
  readonly provider: string
  /** The user's name there; absent where nothing is linked. */
  readonly linkedAs?: string | undefined
  /** The link is not the user's to remove. */
  readonly isFixed?: boolean
}

/** Posts `unlink` or `link`, the id of a provider. */
export interface AccountIdentitiesPage extends AccountSectionPage {
  readonly identities: readonly OwnIdentity[]
}

export interface OwnConsent {
  readonly clientId: string
  readonly application: string
  readonly scopes: readonly string[]
  readonly grantedAt: number
}

/** Posts `revoke`, the id of a client. */
export interface AccountApplicationsPage extends AccountSectionPage {
  readonly applications: readonly PortalApplication[]
  readonly consents: readonly OwnConsent[]
}

/** Posts `approve` or `remove`, the id of a share; `policy`, the id of a policy to remove; or `resource`, `username` and `scope.<name>` for each ticked scope. */
export interface AccountSharingPage extends AccountSectionPage, SharingRecord {
  /** What the form held whose username no other user has. */
  readonly tried?: { readonly resourceId: string; readonly username: string } | undefined
}

/** Posts `revoke`, the id of an agent that acts for the user, or `attest`, the id of one that the user answers for. */
export interface AccountAgentsPage extends AccountSectionPage {
  readonly acting: readonly ActingAgent[]
  readonly waiting: readonly WaitingAgent[]
  readonly owned: readonly OwnedAgent[]
}

export interface AccountDataPage extends AccountSectionPage {
  /** Where the document with the user's own data is got from. */
  readonly exportUrl: string
  /** The page that asks for the deletion; absent where it is not offered. */
  readonly deleteUrl?: string | undefined
  /** A deletion was asked for already. */
  readonly deletionRequestedAt?: number | undefined
}

export type DeleteField = 'username' | 'password'

/** Posts `username`, typed as a confirmation, and `password` where the user has one. */
export interface AccountDeletePage extends AccountSectionPage {
  readonly hasPassword?: boolean | undefined
  readonly errors?: FieldErrors<DeleteField> | undefined
  readonly cancelUrl: string
}

/** The other side of push and QR: posts `decision`, `allow` or `deny`, and `number` where it is asked for. */
export interface ConfirmSignInPage extends FormPage {
  readonly username: string
  readonly application?: string | undefined
  readonly ipAddress: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly asksNumber?: boolean | undefined
  readonly error?: 'wrong-number' | undefined
}

export const selfServicePages = {
  accountProfile: definePage<AccountProfilePage>('account-profile'),
  accountPassword: definePage<AccountPasswordPage>('account-password'),
  accountFactors: definePage<AccountFactorsPage>('account-factors'),
  accountSessions: definePage<AccountSessionsPage>('account-sessions'),
  accountIdentities: definePage<AccountIdentitiesPage>('account-identities'),
  accountApplications: definePage<AccountApplicationsPage>('account-applications', {
    images: ({ applications }) => applications.flatMap(({ iconUrl }) => iconUrl ?? []),
  }),
  accountSharing: definePage<AccountSharingPage>('account-sharing'),
  accountAgents: definePage<AccountAgentsPage>('account-agents'),
  accountData: definePage<AccountDataPage>('account-data'),
  accountDelete: definePage<AccountDeletePage>('account-delete'),
  confirmSignIn: definePage<ConfirmSignInPage>('confirm-sign-in'),
  confirmLink: factorPages.confirmLink,
  done: registrationPages.done,
  ...enrolmentPages,
}

export type SelfServicePages = Pages & PagesOf<typeof selfServicePages>
