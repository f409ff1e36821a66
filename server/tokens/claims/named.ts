/**
 * Claims that a request names one by one (OIDC Core §5.5). A claim is limited to the allowed scopes of the client, and consent
 * to the claim is consent to its scope.
 */

import type { RealmView } from '#server/storage/documents/copy.ts'
import { allowedScopes } from '../access/scopes.ts'
import { rememberPerClient, type TokenClient } from '../client.ts'
import { type ActiveMapper, mappersOfScope, ofTheProtocol } from './collect.ts'
import { pathOf } from './mapper.ts'

export interface NamedClaim {
  /** The scope of the claim. */
  readonly scope: string
  readonly mappers: readonly ActiveMapper[]
}

const remembered = rememberPerClient<ReadonlyMap<string, readonly NamedClaim[]>>()

const nameOf = ({ mapper, config }: ActiveMapper): string =>
  pathOf(config['claim.name'] ?? mapper.claim ?? '')[0] ?? ''

/** By the name of the claim: every scope of the client that means it. */
const claimsOf = (
  view: RealmView,
  client: TokenClient,
): Promise<ReadonlyMap<string, readonly NamedClaim[]>> =>
  remembered(view, client, '', async () => {
    const claims = new Map<string, NamedClaim[]>()
    for (const scope of allowedScopes(client)) {
      const mappers = await mappersOfScope(view, scope)
      for (const [name, makers] of Map.groupBy(mappers, nameOf))
        if (!ofTheProtocol.has(name))
          claims.set(name, [...(claims.get(name) ?? []), { scope, mappers: makers }])
    }
    return claims
  })

/** What the names ask for beyond the scopes that are there: nothing where one of these means the claim anyway. */
export const namedClaims = async (
  view: RealmView,
  client: TokenClient,
  scopes: readonly string[],
  names: readonly string[],
): Promise<readonly NamedClaim[]> => {
  if (names.length === 0) return []
  const claims = await claimsOf(view, client)
  return names.flatMap((name) => {
    const ways = claims.get(name) ?? []
    return ways.some(({ scope }) => scopes.includes(scope)) ? [] : ways.slice(0, 1)
  })
}
