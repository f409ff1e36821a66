/** The applications of the portal: those that the realm shows its users, and where each starts. */

import { Application, type ApplicationDoc } from '#schemas/kinds/clients/application.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { initiatePath } from '#server/saml/addresses.ts'
import { findServiceProvider, optionsOf } from '#server/saml/service-provider.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { objectOf } from './description.ts'
import type { Operation } from './operation.ts'

export interface PortalApplication {
  readonly name: string
  readonly displayName: string
  readonly iconUrl: string | null
  /** Null where the user starts at the application alone. */
  readonly url: string | null
}

interface Start {
  /** Where its client starts a sign-in without the application's help. */
  readonly url?: string
}

/** Undefined where the client of the application is disabled: it signs no user in. */
const startOf = async (
  issuer: Issuer,
  { type, clientId, entityId }: ApplicationDoc,
): Promise<Start | undefined> => {
  if (type === 'OIDC') {
    const client = clientId === undefined ? undefined : await issuer.view.get(Client.kind, clientId)
    return client && !clientOf(client).doc.enabled ? undefined : {}
  }
  if (entityId === undefined) return {}
  const provider = await findServiceProvider(issuer, entityId)
  if (!provider) return undefined
  return optionsOf(issuer, provider).idpInitiatedSsoEnabled
    ? { url: `${issuer.url}${initiatePath}?${new URLSearchParams({ entityId })}` }
    : {}
}

export const portalOf = async (issuer: Issuer): Promise<PortalApplication[]> => {
  const documents = await issuer.view.list(Application.kind)
  const shown = documents
    .map((document) => ({ name: document.key, doc: contentOf<ApplicationDoc>(document) }))
    .filter(({ doc }) => doc.enabled)
  const found = await Promise.all(
    shown.map(async ({ name, doc }) => {
      const start = await startOf(issuer, doc)
      if (!start) return []
      const { displayName = name, iconUrl = null, homepageUrl = start.url ?? null } = doc
      return [{ name, displayName, iconUrl, url: homepageUrl }]
    }),
  )
  return found.flat().sort((a, b) => a.displayName.localeCompare(b.displayName))
}

const text = { type: 'string' }
const orNull = { type: ['string', 'null'] }

export const portalOperations: readonly Operation[] = [
  {
    method: 'GET',
    path: '/applications',
    operationId: 'list-own-applications',
    summary: 'The applications of the portal',
    replies: {
      200: {
        type: 'array',
        items: objectOf({
          name: text,
          displayName: text,
          iconUrl: orNull,
          url: { ...orNull, description: 'Where it starts.' },
        }),
      },
    },
    refusals: [401, 403, 404],
    handle: ({ issuer }) => portalOf(issuer),
  },
]
