/** Sign-ins through identity providers. */

import { departurePages } from '#server/broker/departure-pages.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { ProviderLink } from './login.ts'
import type { UpdateProfilePage } from './registration.ts'
import type { SignInPage, StepPage } from './step-page.ts'

/** The providers to choose among; posts `username`, an address, where an organization may have one. */
export interface ProvidersPage extends Omit<StepPage, 'error'>, SignInPage {
  readonly providers: readonly ProviderLink[]
  readonly asksAddress: boolean
  /** The providers are those of the organization of the address that was given. */
  readonly isOrganization: boolean
  readonly error?: 'no-organization' | undefined
}

/** As of `UpdateProfilePage`, for an account that is yet to be made. */
export interface ReviewProfilePage extends UpdateProfilePage {
  readonly provider: string
}

/** A new account; posts `decision`: `new`, `take-over` or `keep`, where another account has claimed the address. */
export interface NewAccountPage extends Omit<StepPage, 'error'> {
  readonly provider: string
  readonly email?: string | undefined
  readonly isClaimed: boolean
  /** Whether the other account may be taken over. */
  readonly yields: boolean
  readonly error?: 'unavailable' | undefined
}

/** An account has the address. Its form leads to the proof of that account. */
export interface AccountFoundPage extends StepPage {
  readonly provider: string
  readonly email: string
}

export const brokerPages = {
  providers: definePage<ProvidersPage>('providers'),
  reviewProfile: definePage<ReviewProfilePage>('review-profile'),
  newAccount: definePage<NewAccountPage>('new-account'),
  accountFound: definePage<AccountFoundPage>('account-found'),
  ...departurePages,
}
