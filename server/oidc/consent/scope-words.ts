/** The texts of scopes on the consent page: the description of each scope, or its name. */

import { ClientScope, type ClientScopeDoc } from '#schemas/kinds/clients/client-scope.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { highRiskScopes } from '#server/tokens/access/high-risk.ts'
import { openidScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { isCommandLine } from '#server/tokens/command-line.ts'
import type { Issuer } from '#server/tokens/issuers.ts'

export interface ScopeWords {
  /** Whether it asks who the user is. */
  readonly identity: boolean
  /** Whether it may do on the admin API whatever the user may. */
  readonly administers: boolean
  readonly scopes: readonly string[]
  /** High-risk scopes among what it asks for, which are not in `scopes`. */
  readonly risky: readonly string[]
}

/** In the order of the names. */
export const wordsOf = ({ view }: Issuer, names: readonly string[]): Promise<string[]> =>
  Promise.all(
    names.map(async (name) => {
      const document = await view.get(ClientScope.kind, name)
      return (document && contentOf<ClientScopeDoc>(document).description) || name
    }),
  )

export const scopeWords = async (
  issuer: Issuer,
  client: TokenClient,
  scope: readonly string[],
): Promise<ScopeWords> => {
  const others = scope.filter((one) => one !== openidScope)
  const risky = await highRiskScopes(issuer.view, others)
  const plain = others.filter((one) => !risky.includes(one))
  return {
    identity: others.length < scope.length,
    administers: isCommandLine(client),
    scopes: await wordsOf(issuer, plain),
    risky: await wordsOf(issuer, risky),
  }
}
