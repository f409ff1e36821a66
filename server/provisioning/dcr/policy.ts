/**
 * The policy of a realm for registered clients: hosts of redirect URIs, grant types, authentication methods, scopes. It is
 * checked at registration and again at every update, so that an update cannot add what the registration would have refused.
 */

import type { Doc } from '#schemas/json-schema.ts'
import {
  authenticationLevels,
  type ClientDoc,
  grantTypes,
  grantTypeUrns,
  tokenEndpointAuthMethods,
} from '#schemas/kinds/clients/client.ts'
import { ClientScope } from '#schemas/kinds/clients/client-scope.ts'
import type { ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import { own } from '#schemas/own.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { invalidMetadata, invalidRedirectUri } from './errors.ts'
import { type Metadata, settings } from './metadata.ts'

export type Policy = ProvisioningDoc

type GrantType = ClientDoc['grantTypes'][number]
type AuthMethod = ClientDoc['tokenEndpointAuthMethod']

const defaultGrants: readonly GrantType[] = ['authorization_code', 'refresh_token']

export const allowedGrants = ({
  allowedGrantTypes,
}: Pick<Policy, 'allowedGrantTypes'>): readonly GrantType[] =>
  allowedGrantTypes.length > 0 ? allowedGrantTypes : defaultGrants

/** The short name of a grant type, however it is written; undefined where there is no such type. */
export const grantNamed = (name: string): GrantType | undefined =>
  own(grantTypeUrns, name) ?? grantTypes.find((one) => one === name)

const standardScopes = ['profile', 'email', 'address', 'phone', 'offline_access']
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether a host is one of the list: itself, or below a name with `*.`. An empty label is no name (RFC 1034 §3.1). */
export const matchesHost = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => {
    const wanted = pattern.toLowerCase()
    if (!wanted.startsWith('*.')) return host === wanted
    return host.endsWith(wanted.slice(1)) && !host.split('.').includes('')
  })

const isWeb = ({ protocol }: URL): boolean => protocol === 'https:' || protocol === 'http:'
const isLoopback = (url: URL): boolean =>
  url.protocol === 'http:' && loopbackHosts.has(url.hostname)

/** The client scopes of the realm that registered clients may have. */
export const allowedScopes = async (
  view: RealmView,
  policy: Pick<Policy, 'allowedScopes'>,
): Promise<readonly string[]> => {
  const wanted = policy.allowedScopes.length > 0 ? policy.allowedScopes : standardScopes
  const found = await Promise.all(wanted.map((name) => view.get(ClientScope.kind, name)))
  return wanted.filter((_, i) => found[i] !== undefined)
}

const urlsOf = (name: string, uris: readonly string[]): URL[] =>
  uris.map((uri) => {
    const url = URL.parse(uri)
    if (url === null) throw invalidRedirectUri(`${name}: "${uri}" is no absolute URI`)
    return url
  })

/** A scheme of a native client could stand for any host: with a list of hosts only web addresses and listed loopback pass. */
const checkHosts = (
  name: string,
  urls: readonly URL[],
  metadata: Metadata,
  policy: Policy,
): void => {
  const { trustedHosts } = policy
  for (const url of urls) {
    if (url.protocol === 'http:' && !isLoopback(url))
      throw invalidRedirectUri(`${name}: "${url.href}" must use https (RFC 9700 §4.1.1)`)
    if (!isWeb(url) && metadata.application_type === 'web')
      throw invalidRedirectUri(`${name}: a web client must use https: "${url.href}"`)
    if (trustedHosts.length === 0) continue
    if (!isWeb(url) || !matchesHost(trustedHosts, url.hostname))
      throw invalidRedirectUri(`${name}: the realm does not trust the host of "${url.href}"`)
  }
}

const grantsOf = ({ grant_types, response_types }: Metadata, policy: Policy): GrantType[] => {
  const allowed = allowedGrants(policy)
  const wanted = grant_types ?? ['authorization_code']
  const grants = wanted.map((name) => {
    const grant = grantNamed(name)
    if (grant === undefined || !allowed.includes(grant))
      throw invalidMetadata(
        `grant_types: "${name}" is not allowed here; allowed: ${allowed.join(', ')}`,
      )
    return grant
  })
  const usesCode = grants.includes('authorization_code')
  const types = response_types ?? (usesCode ? ['code'] : [])
  const odd = types.find((type) => type !== 'code')
  if (odd !== undefined)
    throw invalidMetadata(`response_types: "${odd}" is not offered; use code (RFC 9700 §2.1.2)`)
  if (types.includes('code') !== usesCode)
    throw invalidMetadata(
      'response_types and grant_types must agree: code goes with authorization_code (RFC 7591 §2.1)',
    )
  return [...new Set(grants)]
}

const methodOf = ({ token_endpoint_auth_method }: Metadata, policy: Policy): AuthMethod => {
  const allowed: readonly AuthMethod[] =
    policy.allowedAuthMethods.length > 0 ? policy.allowedAuthMethods : tokenEndpointAuthMethods
  const wanted = token_endpoint_auth_method ?? 'client_secret_basic'
  const method = tokenEndpointAuthMethods.find((one) => one === wanted)
  if (method === undefined || !allowed.includes(method))
    throw invalidMetadata(
      `token_endpoint_auth_method: "${wanted}" is not allowed here; allowed: ${allowed.join(', ')}`,
    )
  return method
}

/**
 * Whether every token of the client comes of a user's consent. Such a client names at its registration what it asks for first, and
 * more when a resource wants more (MCP 2026-07-28, step-up authorization): it may ask its users for all that the realm allows.
 */
const asksUsers = (
  method: AuthMethod,
  grants: readonly GrantType[],
  { consentRequired }: Policy,
): boolean =>
  consentRequired && method === 'none' && grants.every((one) => defaultGrants.includes(one))

const scopesOf = ({ scope }: Metadata, allowed: readonly string[]): readonly string[] => {
  if (scope === undefined) return allowed
  const wanted = [...new Set(scope.split(' ').filter((one) => one !== '' && one !== 'openid'))]
  const odd = wanted.find((one) => !allowed.includes(one))
  if (odd !== undefined)
    throw invalidMetadata(
      `scope: "${odd}" is not allowed for registered clients; allowed: ${['openid', ...allowed].join(' ')}`,
    )
  return wanted
}

const checkWords = (metadata: Metadata): void => {
  const { application_type: type, subject_type: subject } = metadata
  if (type !== undefined && type !== 'web' && type !== 'native')
    throw invalidMetadata(`application_type: "${type}" must be web or native`)
  if (subject !== undefined && subject !== 'public' && subject !== 'pairwise')
    throw invalidMetadata(`subject_type: "${subject}" must be public or pairwise`)
  const { client_uri: page, initiate_login_uri: login } = metadata
  const address = page === undefined ? undefined : URL.parse(page)
  if (address !== undefined && !(address && isWeb(address)))
    throw invalidMetadata(`client_uri: "${page}" must be an http or https URL (RFC 7591 §2)`)
  if (login !== undefined && URL.parse(login)?.protocol !== 'https:')
    throw invalidMetadata(
      `initiate_login_uri: "${login}" must use https (OIDC Core §4, OIDC Registration §2)`,
    )
}

/** OIDC Core §8.1. */
const checkSector = ({ subject_type, sector_identifier_uri }: Metadata, uris: readonly URL[]) => {
  const hosts = new Set(uris.map(({ hostname }) => hostname))
  if (subject_type === 'pairwise' && hosts.size > 1 && sector_identifier_uri === undefined)
    throw invalidMetadata(
      'sector_identifier_uri is needed: redirect_uris have several hosts and subject_type is pairwise',
    )
}

/** The page of another site, loaded in a frame at each logout, would learn the sessions of users (Front-Channel Logout §2). */
const checkFrontchannel = (
  { frontchannel_logout_uri: uri }: Metadata,
  uris: readonly URL[],
): void => {
  if (uri === undefined) return
  const origin = URL.parse(uri)?.origin
  if (!uris.filter(isWeb).some((one) => one.origin === origin))
    throw invalidMetadata(
      `frontchannel_logout_uri: "${uri}" must have the scheme, host and port of one of redirect_uris (OIDC Front-Channel Logout §2)`,
    )
}

const isLevel = (value: string): boolean => authenticationLevels.some((one) => one === value)

/** Levels that there are not cannot be a default: they are left out, as they are of `acr_values`. */
const levelsOf = ({ default_acr_values: wanted }: Metadata): Doc =>
  wanted === undefined
    ? {}
    : { defaultAcrValues: [...new Set(wanted)].filter((one) => isLevel(one)) }

/** Origins from which the pages of a public client call the token endpoint. */
const originsOf = (uris: readonly URL[]): string[] => [
  ...new Set(uris.filter(isWeb).map(({ origin }) => origin)),
]

/** The fields that every registration and every update sets; what is not named keeps its default or its value. */
export const ruledFields = [
  ...Object.values(settings).map(([field]) => field),
  'grantTypes',
  'tokenEndpointAuthMethod',
  'publicClient',
  'frontchannelLogout',
  'scopes',
  'subjectClaim',
  'loopbackPorts',
  'webOrigins',
  'allowedResources',
  'logoUri',
] as const satisfies readonly (keyof ClientDoc)[]

/** The fields of the document for this metadata; throws where the policy refuses it. */
export const fieldsUnder = (metadata: Metadata, policy: Policy, scopes: readonly string[]): Doc => {
  checkWords(metadata)
  const grants = grantsOf(metadata, policy)
  const method = methodOf(metadata, policy)
  const { redirect_uris = [], post_logout_redirect_uris = [] } = metadata
  if (grants.includes('authorization_code') && redirect_uris.length === 0)
    throw invalidRedirectUri('redirect_uris is needed for authorization_code (RFC 7591 §2)')
  const uris = urlsOf('redirect_uris', redirect_uris)
  checkHosts('redirect_uris', uris, metadata, policy)
  const returns = urlsOf('post_logout_redirect_uris', post_logout_redirect_uris)
  checkHosts('post_logout_redirect_uris', returns, metadata, policy)
  checkSector(metadata, uris)
  checkFrontchannel(metadata, uris)
  const named = scopesOf(metadata, scopes)
  const stated = Object.entries(settings).flatMap(([name, [field]]) => {
    const value = metadata[name as keyof typeof settings]
    return value === undefined ? [] : [[field, Array.isArray(value) ? [...new Set(value)] : value]]
  })
  return {
    ...Object.fromEntries(stated),
    ...levelsOf(metadata),
    ...(metadata.frontchannel_logout_uri === undefined ? {} : { frontchannelLogout: true }),
    grantTypes: grants,
    tokenEndpointAuthMethod: method,
    publicClient: method === 'none',
    scopes: asksUsers(method, grants, policy) ? scopes : named,
    allowedResources: policy.allowedResources,
    ...(metadata.subject_type === 'pairwise' ? { subjectClaim: 'pairwise' } : {}),
    // A native client listens on a port that the system gives it (RFC 8252 §7.3).
    ...(metadata.application_type !== 'web' && uris.some(isLoopback)
      ? { loopbackPorts: true }
      : {}),
    ...(method === 'none' ? { webOrigins: originsOf(uris) } : {}),
  }
}
