/** The consents of the signed-in user: list, and revoke together with the grants. */

import { type Consents, consentsSchema } from '#server/oidc/consent/consents.ts'
import type { RevokeConsent } from '#server/oidc/consent/revoke-consent.ts'
import { nothing, type Operation } from './operation.ts'

const path = '/gdpr/consents'

export const consentOperations = (consents: Consents, take: RevokeConsent): Operation[] => {
  return [
    {
      method: 'GET',
      path,
      operationId: 'list-own-consents',
      summary: 'The consents of the user to clients',
      replies: { 200: consentsSchema },
      refusals: [401, 403, 404],
      handle: ({ issuer, user }) => consents.list(issuer.name, user.id),
    },
    {
      method: 'DELETE',
      path: `${path}/:clientId`,
      operationId: 'revoke-own-consent',
      summary: 'Revokes the consent for a client and all its grants',
      replies: { 204: nothing },
      refusals: [401, 403, 404],
      events: ['REVOKE_GRANT'],
      handle: (self, { params }) => take(self.issuer, self, params.clientId, self.address),
    },
  ]
}
