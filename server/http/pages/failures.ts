/** The page of a failure: what happened, and what to do. */

import type { PageContext } from './context.ts'
import { definePage } from './definition.ts'

export type PageError =
  | 'bad-request'
  | 'application'
  | 'sign-out-request'
  | 'expired'
  | 'flow-expired'
  | 'cookies'
  | 'link-used'
  | 'link-expired'
  | 'wrong-browser'
  | 'too-many'
  | 'closed'
  | 'organization-closed'
  | 'device-unreachable'
  | 'directory-away'
  | 'directory-password'
  | 'provider-denied'
  | 'provider-expired'
  | 'provider-invalid'
  | 'provider-unavailable'
  | 'provider-not-allowed'
  | 'provider-not-fresh'
  | 'provider-no-way'
  | 'provider-linked'
  | 'forbidden'
  | 'not-found'
  | 'rate-limited'
  | 'internal'

export interface ErrorPage extends PageContext {
  readonly error: PageError
  readonly requestId: string
  /** The identity provider that it is about. */
  readonly provider?: string | undefined
  /** For the operator of the application that sent the user here. */
  readonly detail?: string | undefined
  /** Where to start again. */
  readonly backUrl?: string | undefined
  /** What is there; the sign-in without it. */
  readonly backTo?: 'sign-in' | 'account' | undefined
}

export const failurePages = { error: definePage<ErrorPage>('error', { once: true }) }
