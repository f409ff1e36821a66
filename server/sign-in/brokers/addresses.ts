/** Where a browser leaves for an identity provider, and where it comes back to. */

import type { StepContext } from '../flow/step.ts'
import { pendingParameter } from '../pages/pending.ts'

/** The parameter that names a sign-in which has begun. */
export const signInParameter = 'sign_in'

/** Below the realm. */
export const departureUrl = '/realms/:realm/broker/:alias/login'
export const endpointUrl = '/realms/:realm/broker/:alias/endpoint'

const brokerPath = (realm: string, alias: string, last: string): string =>
  `/realms/${realm}/broker/${encodeURIComponent(alias)}/${last}`

export const endpointPath = (realm: string, alias: string): string =>
  brokerPath(realm, alias, 'endpoint')

/** Where a sign-in begins that nothing asked for. */
export const beginPath = (realm: string, alias: string): string => brokerPath(realm, alias, 'login')

export const departurePath = (
  {
    realm,
    handle,
    stored,
    state: { pending },
  }: Pick<StepContext, 'realm' | 'handle' | 'stored' | 'state'>,
  alias: string,
): string => {
  const query = new URLSearchParams(
    stored
      ? { [signInParameter]: handle }
      : pending === undefined
        ? {}
        : { [pendingParameter]: pending },
  ).toString()
  return `${beginPath(realm, alias)}${query === '' ? '' : `?${query}`}`
}

/** The page of the account with the links of its user. */
export const linkedPath = (realm: string): string => `/realms/${realm}/account/identities`
