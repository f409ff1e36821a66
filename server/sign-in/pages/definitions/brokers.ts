/** Sign-ins through identity providers. */

import type { PageContext } from '#server/http/pages/context.ts'
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

/** On the way to a provider, where no redirect can lead there; the browser goes on by itself. */
export interface DeparturePage extends PageContext {
  readonly provider: string
  readonly url: string
}

/** The form that takes the browser to a provider. */
export interface DepartureFormPage extends PageContext {
  readonly application: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

export const brokerPages = {
  providers: definePage<ProvidersPage>('providers'),
  reviewProfile: definePage<ReviewProfilePage>('review-profile'),
  newAccount: definePage<NewAccountPage>('new-account'),
  accountFound: definePage<AccountFoundPage>('account-found'),
  departure: definePage<DeparturePage>('departure', { once: true }),
  departureForm: definePage<DepartureFormPage>('form-post', { script: () => 'submit', once: true }),
}
