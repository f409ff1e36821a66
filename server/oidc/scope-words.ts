/** What a client asks for, in words for people: the description of each scope, or its name. */

import { ClientScope, type ClientScopeDoc } from '#schemas/kinds/client-scope.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { Issuer } from '#server/tokens/realm.ts'
import { openidScope } from '#server/tokens/scopes.ts'

export interface ScopeWords {
  /** Whether it asks who the user is. */
  readonly identity: boolean
  readonly scopes: readonly string[]
}

export const scopeWords = async (
  { view }: Issuer,
  scope: readonly string[],
): Promise<ScopeWords> => {
  const others = scope.filter((one) => one !== openidScope)
  const wordOf = async (name: string): Promise<string> => {
    const document = await view.get(ClientScope.kind, name)
    return (document && contentOf<ClientScopeDoc>(document).description) || name
  }
  return { identity: others.length < scope.length, scopes: await Promise.all(others.map(wordOf)) }
}
