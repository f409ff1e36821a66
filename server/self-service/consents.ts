/** What users have allowed clients, for themselves: to see, and to take back with all that it gave. */

import { consentsSchema, createConsents } from '#server/oidc/consent/consents.ts'
import { createRevokeConsent } from '#server/oidc/consent/revoke-consent.ts'
import { nothing, type Operation } from './operation.ts'
import type { AccountParts } from './parts.ts'

export type OwnConsentsParts = Pick<AccountParts, 'storage' | 'clock' | 'grantsStore' | 'recorder'>

const path = '/gdpr/consents'

export const consentOperations = (parts: OwnConsentsParts): Operation[] => {
  const consents = createConsents(parts)
  const take = createRevokeConsent({ ...parts, consents })
  return [
    {
      method: 'GET',
      path,
      operationId: 'list-own-consents',
      summary: 'What the user has allowed clients',
      replies: { 200: consentsSchema },
      refusals: [401, 403, 404],
      handle: ({ issuer, user }) => consents.list(issuer.name, user.id),
    },
    {
      method: 'DELETE',
      path: `${path}/:clientId`,
      operationId: 'revoke-own-consent',
      summary: 'Takes back what the user has allowed a client, and ends all that it was given',
      replies: { 204: nothing },
      refusals: [401, 403, 404],
      events: ['REVOKE_GRANT'],
      handle: (self, { params }) => take(self.issuer, self, params.clientId, self.address),
    },
  ]
}
