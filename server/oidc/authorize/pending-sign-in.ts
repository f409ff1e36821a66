/** The pending request of a sign-in page: an authorize request, an invitation, or a page of the server. */

import { twoFactors } from '#server/sign-in/flow/levels.ts'
import { invitationHandle, type OpenedInvitations } from '#server/sign-in/opened-invitations.ts'
import type { FindPending } from '#server/sign-in/pages/pending.ts'
import { ownPage, wantsStrength } from '../page-handles.ts'
import type { Authorizations } from './authorizations.ts'
import { formTargets } from './form-targets.ts'
import { stepsUp, wantedLevel } from './interaction.ts'

export const createFindPending = (
  authorizations: Authorizations,
  invitations: OpenedInvitations,
): FindPending => {
  return async (request, realm, handle) => {
    if (handle === invitationHandle) return invitations.pending(request, realm)
    const own = ownPage(realm, handle)
    if (own !== undefined) {
      const wanted = wantsStrength(handle) ? { acr: twoFactors, stepsUp: true } : {}
      return { continueTo: own, formTargets: [], ...wanted }
    }
    const found = await authorizations.findOf(request, realm, handle)
    return (
      found && {
        continueTo: `/realms/${realm}/authorize/${found.handle}`,
        username: found.request.loginHint,
        locales: found.request.locales,
        clientId: found.clientId,
        acr: wantedLevel(found.request),
        organization: found.request.organization,
        stepsUp: stepsUp(found.request),
        formTargets: formTargets(found.request.redirectUri),
      }
    )
  }
}
