/** How requests for single sign-on go through the sign-in and back to the single sign-on service. */

import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type {
  Journey,
  Protocol,
  RoundTrip,
  WaitingJourney,
} from '#server/sign-in/waiting/round-trip.ts'
import { ssoPath } from '../addresses.ts'
import { SamlRefused } from '../errors.ts'
import { findServiceProvider, optionsOf, type ServiceProvider } from '../service-provider.ts'
import type { SsoRequest } from './sso-request.ts'

export const startsThere = (provider: ServiceProvider): SamlRefused =>
  new SamlRefused('sign-in for this service provider starts there, not here', {
    status: 403,
    provider,
  })

export const ssoProtocol: Protocol<ServiceProvider, SsoRequest> = {
  name: 'saml',
  path: ssoPath,
  nameOf: ({ entityId }) => entityId,
  clientOf: async (issuer, { clientId, request }) => {
    const provider = await findServiceProvider(issuer, clientId)
    const { url, binding } = request.acs
    if (!provider?.acs.some((one) => one.url === url && one.binding === binding))
      throw new SamlRefused('the service provider, or its address, is no longer there')
    if (request.id === undefined && !optionsOf(issuer, provider).idpInitiatedSsoEnabled)
      throw startsThere(provider)
    return provider
  },
  shown: ({ displayName }, { acs }) => ({
    application: displayName,
    formTargets: formTargets(acs.url),
  }),
}

export type SsoTrip = RoundTrip<ServiceProvider, SsoRequest>
export type SsoJourney = Journey<ServiceProvider, SsoRequest>
export type WaitingSso = WaitingJourney<ServiceProvider, SsoRequest>
