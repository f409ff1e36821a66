/** The scopes of a consent: those of the request, and those of the requested claims. */

import { namedClaims } from '#server/tokens/claims/named.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { AuthorizeRequest } from './authorize-request.ts'

export const askedScopes = async (
  { view }: Issuer,
  client: TokenClient,
  { scope, idTokenClaims = [], userinfoClaims = [] }: AuthorizeRequest,
): Promise<readonly string[]> => {
  const named = await namedClaims(view, client, scope, [...idTokenClaims, ...userinfoClaims])
  return [...new Set([...scope, ...named.map((one) => one.scope)])]
}
