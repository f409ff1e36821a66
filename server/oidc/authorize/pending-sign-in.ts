/** The pending request of a sign-in page: an authorize request, an invitation, or a page of the server. */

import { Client, type ClientDoc, displayNameOf } from '#schemas/kinds/clients/client.ts'
import { twoFactors } from '#server/sign-in/flow/levels.ts'
import { invitationHandle, type OpenedInvitations } from '#server/sign-in/opened-invitations.ts'
import type { FindPending } from '#server/sign-in/pages/pending.ts'
import { formTargets } from '#server/sign-in/waiting/form-targets.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { ownPage, wantsFreshness, wantsStrength } from '../page-handles.ts'
import type { AuthorizeTrip } from './authorize-protocol.ts'
import { stepsUp } from './interaction.ts'
import { wantedLevel } from './wanted-levels.ts'

const applicationOf = async (view: RealmView, clientId: string): Promise<string | undefined> => {
  const document = await view.get(Client.kind, clientId)
  const client = document && contentOf<ClientDoc>(document)
  return client?.enabled ? displayNameOf(client) : undefined
}

export const createFindPending = (
  trip: Pick<AuthorizeTrip, 'findOf' | 'addressOf'>,
  invitations: OpenedInvitations,
): FindPending => {
  return async (request, realm, handle) => {
    if (handle === invitationHandle) return invitations.pending(request, realm)
    const own = ownPage(realm, handle)
    if (own !== undefined) {
      const wanted = wantsStrength(handle) ? { acr: twoFactors, stepsUp: true } : {}
      return { continueTo: own, formTargets: [], fresh: wantsFreshness(handle), ...wanted }
    }
    const found = await trip.findOf(request, realm, handle)
    return (
      found && {
        continueTo: trip.addressOf(realm, found.handle),
        username: found.request.loginHint,
        provider: found.request.provider,
        fresh: found.request.prompt.includes('login') || found.request.maxAge !== undefined,
        locales: found.request.locales,
        clientId: found.clientId,
        application: (view) => applicationOf(view, found.clientId),
        acr: wantedLevel(found.request),
        organization: found.request.organization,
        stepsUp: stepsUp(found.request),
        formTargets: formTargets(found.request.redirectUri),
      }
    )
  }
}
