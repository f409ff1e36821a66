/**
 * The metadata of a realm (OIDC Discovery §3, RFC 8414 §2): derived from the lists of endpoints, grants and methods.
 */

import { ClientScope } from '#schemas/kinds/clients/client-scope.ts'
import { signingAlgorithms } from '#server/keys/algorithms.ts'
import { openidScope } from '#server/tokens/access/scopes.ts'
import { standardClaims, standardScopes } from '#server/tokens/claims/standard.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { ResponseMode } from '../authorize/response-modes/mode.ts'
import type { ClientAuthMethod } from '../client-auth/method.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Grant } from '../token/grants/grant.ts'
import { codeChallengeMethods, responseTypes, wireName } from '../vocabulary.ts'

export interface Lists {
  readonly endpoints: readonly Endpoint[]
  readonly grants: readonly Grant[]
  readonly clientAuthMethods: readonly ClientAuthMethod[]
  readonly responseModes: readonly ResponseMode[]
  /** The languages that pages are written in. */
  readonly locales: readonly string[]
  /** Of protocols beside this one, as far as the realm offers them. */
  readonly furtherMetadata: (issuer: Issuer) => Promise<Metadata>
}

export type Metadata = Readonly<Record<string, unknown>>

const claimsSupported = [
  'sub',
  'iss',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'acr',
  'amr',
  'azp',
  'nonce',
  'sid',
  ...standardClaims.keys(),
]

/** Standard scopes that the realm has come first, in the order of the standard. */
export const scopesOf = async ({ view }: Issuer): Promise<string[]> => {
  const names = (await view.list(ClientScope.kind)).map(({ key }) => key)
  const standard = Object.keys(standardScopes).filter((name) => names.includes(name))
  return [...new Set([openidScope, ...standard, ...names])]
}

/** As pages choose theirs: a realm that names none offers all. */
const localesOf = ({ settings: { supportedLocales } }: Issuer, locales: readonly string[]) =>
  locales.filter((one) => supportedLocales.length === 0 || supportedLocales.includes(one))

export const metadataSchema = {
  description: 'The metadata.',
  type: 'object',
  properties: { issuer: { type: 'string', format: 'uri' } },
  required: ['issuer'],
  additionalProperties: true,
} as const

export const metadataOf = async (issuer: Issuer, lists: Lists): Promise<Metadata> => {
  const { endpoints, grants, clientAuthMethods, responseModes, locales, furtherMetadata } = lists
  const offered = clientAuthMethods.filter((one) => one.isOffered?.(issuer.settings) ?? true)
  const methods = offered.map(({ name }) => name)
  const algorithms = [...new Set(offered.flatMap((one) => one.algorithms ?? []))]
  const isOffered = await Promise.all(grants.map((one) => one.isOffered?.(issuer) ?? true))
  const offeredGrants = grants.filter((_one, index) => isOffered[index])
  const ofGrants = await Promise.all(offeredGrants.map((one) => one.metadata?.(issuer)))
  const proving = methods.filter((name) => name !== 'none')
  const addresses = endpoints.flatMap(({ member, path }) =>
    member === undefined ? [] : [[member, `${issuer.url}${path}`]],
  )
  return {
    issuer: issuer.url,
    ...Object.fromEntries(addresses),
    scopes_supported: await scopesOf(issuer),
    response_types_supported: responseTypes,
    response_modes_supported: responseModes.map(({ name }) => name),
    grant_types_supported: offeredGrants.map(({ name }) => wireName(name)),
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: signingAlgorithms,
    authorization_signing_alg_values_supported: signingAlgorithms,
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: proving,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    code_challenge_methods_supported: codeChallengeMethods,
    claim_types_supported: ['normal'],
    ui_locales_supported: localesOf(issuer, locales),
    claims_supported: claimsSupported,
    ...Object.assign({}, ...endpoints.map(({ metadata }) => metadata), ...ofGrants),
    ...(await furtherMetadata(issuer)),
  }
}
