/** How authorize requests go through the sign-in and back to the authorization endpoint. */

import { displayNameOf } from '#schemas/kinds/clients/client.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type {
  Journey,
  Protocol,
  RoundTrip,
  WaitingJourney,
} from '#server/sign-in/waiting/round-trip.ts'
import type { FindClient, TokenClient } from '#server/tokens/client.ts'
import type { AuthorizeRequest } from './authorize-request.ts'
import { createKnownClient } from './steps/client/known-client.ts'
import { registeredRedirectUri } from './steps/client/registered-redirect-uri.ts'

export const authorizePath = '/authorize'

export const authorizeProtocol = (
  findClient: FindClient,
): Protocol<TokenClient, AuthorizeRequest> => ({
  name: 'oidc',
  path: authorizePath,
  nameOf: ({ clientId }) => clientId,
  clientOf: async (issuer, { clientId, request }) => {
    const client = await createKnownClient(findClient)(issuer, clientId)
    registeredRedirectUri(client, request.redirectUri)
    return client
  },
  shown: ({ doc }, { redirectUri, locales }) => ({
    application: displayNameOf(doc),
    formTargets: formTargets(redirectUri),
    locales,
  }),
})

export type AuthorizeTrip = RoundTrip<TokenClient, AuthorizeRequest>
export type AuthorizeJourney = Journey<TokenClient, AuthorizeRequest>
export type WaitingAuthorize = WaitingJourney<TokenClient, AuthorizeRequest>
