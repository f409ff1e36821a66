/** What the sign-in page learns about the authorize request that waits for it. */

import type { FindPending } from '#server/login/pending.ts'
import { createAuthorizations } from './authorizations.ts'
import { formTargets } from './form-targets.ts'
import type { OidcParts } from './parts.ts'

export const createFindPending = (
  parts: Pick<OidcParts, 'storage' | 'clock' | 'cookies'>,
): FindPending => {
  const authorizations = createAuthorizations(parts)
  return async (request, realm, handle) => {
    const found = await authorizations.findOf(request, realm, handle)
    return (
      found && {
        continueTo: `/realms/${realm}/authorize/${found.handle}`,
        username: found.request.loginHint,
        locales: found.request.locales,
        formTargets: formTargets(found.request.redirectUri),
      }
    )
  }
}
