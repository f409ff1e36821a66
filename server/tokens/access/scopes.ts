/** Which scopes a client gets (RFC 6749 §3.3): what it asks for and may have, and its defaults. */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { TokenClient } from '../client.ts'

/** Asked for, and not among what the client may have, or not spelled as a scope. */
export class ScopeError extends Error {
  override readonly name = 'ScopeError'
}

export const openidScope = 'openid'
export const offlineScope = 'offline_access'
/** Opens the account API to a client, for the user of its token. */
export const accountScope = 'account'

/** Opens the protection API to a resource server (UMA 2.0 Federated Authorization §1.3). */
export const protectionScope = 'uma_protection'
/** Open the streams of security events to a receiver: to manage, or to read (CAEP interoperability profile §2.7.3). */
export const signalsScope = 'ssf.manage'
export const signalsReadScope = 'ssf.read'
/** Opens the token of the user at an identity provider. */
export const storedTokenScope = 'read-token'

/**
 * Scopes that open the server itself: a token for another resource does not carry them on. `admin:plan` is none of them: it
 * keeps a token from doing more.
 */
export const serverScopes: ReadonlySet<string> = new Set([
  openidScope,
  offlineScope,
  accountScope,
  protectionScope,
  signalsScope,
  signalsReadScope,
  storedTokenScope,
])

const syntax = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export const parseScope = (text: string | undefined): string[] => [
  ...new Set((text ?? '').split(' ').filter((one) => one !== '')),
]

const sets = new WeakMap<ClientDoc, ReadonlySet<string>>()

/** Everything the client may have. */
export const allowedScopes = ({ doc }: TokenClient): ReadonlySet<string> => {
  const before = sets.get(doc)
  if (before) return before
  const allowed = new Set([
    openidScope,
    ...(doc.authorizationServicesEnabled ? [protectionScope] : []),
    ...doc.scopes,
    ...doc.defaultScopes,
  ])
  sets.set(doc, allowed)
  return allowed
}

/** Throws a ScopeError for one that the client may not have; defaults are always in. */
export const grantedScopes = (client: TokenClient, requested: string | undefined): string[] => {
  const wanted = parseScope(requested)
  const allowed = allowedScopes(client)
  for (const scope of wanted)
    if (!allowed.has(scope))
      throw new ScopeError(
        syntax.test(scope) && scope.length <= 255
          ? `the client may not have the scope ${scope}`
          : 'the scope is not spelled as one',
      )
  return [...new Set([...wanted, ...client.doc.defaultScopes])]
}

/** What of an earlier grant the client may still have. */
export const stillAllowed = (client: TokenClient, scopes: readonly string[]): string[] => {
  const allowed = allowedScopes(client)
  return scopes.filter((scope) => allowed.has(scope))
}
