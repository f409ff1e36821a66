/** The texts of scopes on the consent page: the description of each scope, or its name. */

import { ClientScope, type ClientScopeDoc } from '#schemas/kinds/clients/client-scope.ts'
import { contentOf } from '#server/storage/documents/document.ts'
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
}

export const scopeWords = async (
  { view }: Issuer,
  client: TokenClient,
  scope: readonly string[],
): Promise<ScopeWords> => {
  const others = scope.filter((one) => one !== openidScope)
  const wordOf = async (name: string): Promise<string> => {
    const document = await view.get(ClientScope.kind, name)
    return (document && contentOf<ClientScopeDoc>(document).description) || name
  }
  return {
    identity: others.length < scope.length,
    administers: isCommandLine(client),
    scopes: await Promise.all(others.map(wordOf)),
  }
}
