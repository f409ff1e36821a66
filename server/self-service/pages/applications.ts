/** The page of applications: those of the portal, and the consents of the user. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Consents } from '#server/oidc/consent/consents.ts'
import type { RevokeConsent } from '#server/oidc/consent/revoke-consent.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { portalOf } from '../portal.ts'
import type { SelfServicePages } from './definitions.ts'
import { type Frame, goTo } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface ApplicationsPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly consents: Consents
  readonly revoke: RevokeConsent
}

const path = '/applications'

const nameOf = async ({ view }: Issuer, clientId: string): Promise<string> => {
  const document = await view.get(Client.kind, clientId)
  return (document && clientOf(document).doc.name) || clientId
}

export const applicationsPages = (parts: ApplicationsPageParts): AccountPage[] => {
  const { pages, frame, consents, revoke } = parts
  return [
    {
      path,
      section: 'applications',
      name: 'applications-page',
      summary: 'The applications of the portal, and the consents of the user',
      show: async (visit) => {
        const { issuer, user, reply } = visit
        const records = await consents.list(issuer.name, user.id)
        return pages.accountApplications(reply, {
          ...(await frame(visit, path)),
          applications: await portalOf(issuer),
          consents: await Promise.all(
            records.map(async ({ clientId, grantedClientScopes, createdDate }) => ({
              clientId,
              application: await nameOf(issuer, clientId),
              scopes: grantedClientScopes,
              grantedAt: createdDate,
            })),
          ),
        })
      },
      fields: ['revoke'],
      events: ['REVOKE_GRANT'],
      submit: async (visit, form) => {
        const { issuer, request } = visit
        const clientId = form.get('revoke')
        if (clientId === undefined) throw new Problem('bad-request', 'Say which application.')
        await revoke(issuer, visit, clientId, request.ip)
        return goTo(visit, path, 'removed')
      },
    },
  ]
}
