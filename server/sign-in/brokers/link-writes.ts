/** What a link to an account at an identity provider writes, and what the audit trail says about it. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Links } from '#server/users/links/links.ts'
import type { StepContext } from '../flow/step.ts'
import type { Writes } from '../flow/vouching.ts'
import type { Newcomer } from './accounts/newcomers.ts'
import type { SignInProvider } from './providers.ts'

type Place = Pick<StepContext, 'realm' | 'address'>

export const brokerEvent = (
  { realm, address }: Place,
  { alias }: Pick<SignInProvider, 'alias'>,
  type: AuditEvent['type'],
  actor: string,
  failure?: string,
): AuditEvent => ({
  type,
  realm,
  actor,
  sourceIp: address,
  outcome: failure === undefined ? 'SUCCESS' : 'FAILURE',
  resourceType: IdentityProvider.resourceType,
  resourceId: alias,
  ...(failure === undefined ? {} : { detail: failure }),
})

export const createLinkWrites = ({ links }: { readonly links: Pick<Links, 'link'> }) => ({
  /** The first link of the person, to a user that has just been made or proved. */
  first: async (
    place: Place,
    { provider, identity }: Pick<Newcomer, 'provider' | 'identity'>,
    user: Pick<UserRow, 'id'>,
  ): Promise<Writes> => ({
    statements: links.link({ realm: place.realm, ...provider }, [
      {
        issuer: identity.issuer,
        subject: identity.subject,
        username: identity.username ?? identity.email,
        userId: user.id,
        tokens: provider.doc.storeToken ? identity.tokens : undefined,
      },
    ]),
    events: [brokerEvent(place, provider, 'IDENTITY_PROVIDER_LINK', user.id)],
  }),
})

export type LinkWrites = ReturnType<typeof createLinkWrites>
