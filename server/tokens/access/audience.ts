/** The audience of an access token (RFC 9068 §2.2, §3; resource indicators of RFC 8707). */

import type { TokenClient } from '../client.ts'
import { isCommandLine } from '../command-line.ts'
import type { Issuer } from '../issuers.ts'
import { accountScope, openidScope, protectionScope } from './scopes.ts'

/** The audience of the account API: tokens for anything else are refused there (docs/decisions/account-api.md). */
export const accountAudience = (issuer: string): string => `${issuer}/account`

/** The audience of the admin API, which is the server's and not of one realm. */
export const adminAudience = (baseUrl: string): string => `${baseUrl}/admin`

/** The audience of the protection API of UMA. */
export const protectionAudience = (issuer: string): string => `${issuer}/authz/protection`

/** A resource or audience that the client may not ask for. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
}

/** The characters of a URI (RFC 3986 §2): parsers of URLs pass over white space, and read backslashes and other scripts as something else. */
const uriCharacters = /^[!-[\]-~]+$/

/** Scheme and host in any case, the default port, and one slash at the end make no difference (RFC 3986 §6.2, MCP 2026-07-28). */
const comparable = (resource: string): string | undefined => {
  const url = uriCharacters.test(resource) ? URL.parse(resource) : null
  if (url === null || resource.includes('#') || url.username !== '' || url.password !== '')
    return undefined
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}${url.search}`
}

/** The form in which the client is configured for the resource; undefined where it is not. */
export const registeredForm = (
  { doc: { allowedResources: registered } }: TokenClient,
  resource: string,
): string | undefined => {
  if (registered.includes(resource)) return resource
  const wanted = comparable(resource)
  return wanted === undefined ? undefined : registered.find((one) => comparable(one) === wanted)
}

/**
 * The resources that are asked for, each allowed to the client and in its registered form: this is what the audience of the
 * token names, however it was asked for. RFC 8707 §2 wants absolute URIs without a fragment.
 */
export const allowedResources = (
  client: TokenClient,
  requested: readonly string[],
): readonly string[] => {
  const found = requested.map((resource) => {
    const registered = registeredForm(client, resource)
    if (registered === undefined) throw new TargetError('the client may not ask for this resource')
    return registered
  })
  return [...new Set(found)]
}

interface Asked {
  readonly resources: readonly string[]
  /** Audiences that mappers and scopes add. */
  readonly mapped: readonly string[]
  readonly scope: readonly string[]
}

/**
 * Resources that were asked for narrow the audience to themselves (RFC 8707 §2.2). Otherwise it is what the client and
 * its mappers say, with the protection API where the scope opens it; and the issuer itself where they say nothing: the claim
 * must not be missing.
 */
export const audienceOf = (
  issuer: string,
  { doc }: TokenClient,
  { resources, mapped, scope }: Asked,
): string | readonly string[] => {
  const own = [...new Set([...doc.audiences, ...mapped])]
  const opened = scope.includes(protectionScope) && own.length > 0 && !own.includes(issuer)
  const named = opened ? [...own, protectionAudience(issuer)] : own
  const all = resources.length > 0 ? resources : named
  const [first = issuer, ...others] = all
  return others.length > 0 ? all : first
}

/**
 * The resources of the server itself that a user's token opens: by its scopes userinfo and, of a client that is configured
 * to ask for it, the account API; of the command line the admin API.
 */
export const ownAudiences = (
  { url: issuer, baseUrl }: Pick<Issuer, 'url' | 'baseUrl'>,
  client: TokenClient,
  scope: readonly string[],
): readonly string[] => [
  ...(scope.includes(openidScope) ? [issuer] : []),
  ...(scope.includes(accountScope) && client.doc.scopes.includes(accountScope)
    ? [accountAudience(issuer)]
    : []),
  ...(isCommandLine(client) ? [adminAudience(baseUrl)] : []),
]
