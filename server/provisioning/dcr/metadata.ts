/**
 * Client metadata as clients send and read it (RFC 7591 §2, OIDC Registration §2, and the metadata of PAR, DPoP, CIBA and
 * logout), and the fields of a client document that it stands for. This list is all that a registration reaches: a field
 * of the client kind that is not in it cannot be set from outside (CVE-2026-9705, CVE-2026-15572).
 */

import { isObject } from '#schemas/json-schema.ts'
import { type ClientDoc, grantTypeUrns } from '#schemas/kinds/clients/client.ts'
import { textErrors } from '#server/storage/values.ts'
import { invalidMetadata, invalidRedirectUri } from './errors.ts'

type Form = 'text' | 'texts' | 'flag' | 'number' | 'object'

/** Metadata with a field of its own, under the name that it has in the document. */
export const settings = {
  client_name: ['name', 'text'],
  policy_uri: ['policyUri', 'text'],
  tos_uri: ['tosUri', 'text'],
  redirect_uris: ['redirectUris', 'texts'],
  post_logout_redirect_uris: ['postLogoutRedirectUris', 'texts'],
  jwks_uri: ['jwksUri', 'text'],
  jwks: ['jwks', 'object'],
  sector_identifier_uri: ['sectorIdentifierUri', 'text'],
  frontchannel_logout_uri: ['frontchannelLogoutUri', 'text'],
  backchannel_logout_uri: ['backchannelLogoutUri', 'text'],
  backchannel_token_delivery_mode: ['backchannelTokenDeliveryMode', 'text'],
  backchannel_client_notification_endpoint: ['backchannelClientNotificationEndpoint', 'text'],
  default_max_age: ['defaultMaxAge', 'number'],
  default_acr_values: ['defaultAcrValues', 'texts'],
  require_pushed_authorization_requests: ['requirePar', 'flag'],
  require_signed_request_object: ['requireSignedRequestObject', 'flag'],
  dpop_bound_access_tokens: ['dpopBoundAccessTokens', 'flag'],
  token_endpoint_auth_signing_alg: ['tokenEndpointAuthSigningAlg', 'text'],
  request_object_signing_alg: ['requestObjectSigningAlg', 'text'],
  backchannel_authentication_request_signing_alg: [
    'backchannelAuthenticationRequestSigningAlg',
    'text',
  ],
  id_token_signed_response_alg: ['idTokenSignedResponseAlg', 'text'],
  authorization_signed_response_alg: ['authorizationSignedResponseAlg', 'text'],
  userinfo_signed_response_alg: ['userinfoSignedResponseAlg', 'text'],
} as const satisfies Record<string, readonly [keyof ClientDoc, Form]>

/** Metadata that fields follow from, by the policy of the realm. */
const derived = {
  token_endpoint_auth_method: 'text',
  grant_types: 'texts',
  response_types: 'texts',
  subject_type: 'text',
} as const satisfies Record<string, Form>

/** Metadata that describes the client: stored beside its document, and answered as it was sent. */
const descriptive = {
  application_type: 'text',
  scope: 'text',
  client_uri: 'text',
  initiate_login_uri: 'text',
  logo_uri: 'text',
  contacts: 'texts',
  software_id: 'text',
  software_version: 'text',
  software_statement: 'text',
  // What every id token, logout token and page at logout has.
  require_auth_time: 'flag',
  backchannel_logout_session_required: 'flag',
  frontchannel_logout_session_required: 'flag',
} as const satisfies Record<string, Form>

interface Values {
  readonly text: string
  readonly texts: readonly string[]
  readonly flag: boolean
  readonly number: number
  readonly object: Readonly<Record<string, unknown>>
}

type Forms = {
  readonly [Name in keyof typeof settings]: (typeof settings)[Name][1]
} & typeof derived &
  typeof descriptive

/** What is understood of a request; anything else is ignored, as RFC 7591 §2 wants it. */
export type Metadata = { readonly [Name in keyof Forms]?: Values[Forms[Name]] }

const formOf: ReadonlyMap<string, Form> = new Map<string, Form>([
  ...Object.entries(settings).map(([name, [, form]]) => [name, form] as const),
  ...Object.entries(derived),
  ...Object.entries(descriptive),
])

const longestText = 4000
const mostTexts = 100
/** A signed statement or a picture; the document's schema has its own limits. */
const longText: ReadonlySet<string> = new Set(['software_statement', 'logo_uri'])

const isText = (value: unknown, most = longestText): value is string =>
  typeof value === 'string' && value.length <= most

const fits: { readonly [F in Form]: (value: unknown, name: string) => boolean } = {
  text: (value, name) => isText(value, longText.has(name) ? 32_768 : longestText),
  texts: (value) =>
    Array.isArray(value) && value.length <= mostTexts && value.every((one) => isText(one)),
  flag: (value) => typeof value === 'boolean',
  number: (value) => Number.isSafeInteger(value),
  object: isObject,
}

const words: { readonly [F in Form]: string } = {
  text: 'a text',
  texts: `a list of at most ${mostTexts} texts`,
  flag: 'true or false',
  number: 'a whole number',
  object: 'an object',
}

/** Throws an error of RFC 7591 §3.2.2. Null means that it is left out (RFC 7592 §2.2). */
export const readMetadata = (body: unknown): Metadata => {
  if (!isObject(body)) throw invalidMetadata('send the client metadata as a JSON object')
  const read: Record<string, unknown> = {}
  for (const [name, form] of formOf) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    if (value === undefined || value === null) continue
    if (!fits[form](value, name)) {
      const refuse = name === 'redirect_uris' ? invalidRedirectUri : invalidMetadata
      throw refuse(`${name} must be ${words[form]}`)
    }
    const [unstorable] = textErrors(value)
    if (unstorable) throw invalidMetadata(`${name} ${unstorable.message}`)
    read[name] = value
  }
  return read as Metadata
}

export const descriptiveOf = (metadata: Metadata): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => name in descriptive))

const wireNameOf = (grant: string): string =>
  Object.entries(grantTypeUrns).find(([, short]) => short === grant)?.[0] ?? grant

/** As the client named it, of what it may have now; all of that where it named none. */
const scopeOf = ({ scopes }: ClientDoc, { scope }: Metadata): string => {
  const named = scope?.split(' ')
  return ['openid', ...scopes.filter((one) => named?.includes(one) ?? true)].join(' ')
}

/** The metadata of a client as it is registered: every field of `settings`, and what follows from the others. */
export const metadataOf = (
  doc: ClientDoc,
  described: Metadata,
): Readonly<Record<string, unknown>> => {
  const own = Object.entries(settings).flatMap(([name, [field]]) => {
    const value = doc[field]
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
    return isEmpty && name !== 'redirect_uris' ? [] : [[name, value] as const]
  })
  return {
    ...described,
    ...Object.fromEntries(own),
    token_endpoint_auth_method: doc.publicClient ? 'none' : doc.tokenEndpointAuthMethod,
    grant_types: doc.grantTypes.map(wireNameOf),
    response_types: doc.grantTypes.includes('authorization_code') ? ['code'] : [],
    scope: scopeOf(doc, described),
    subject_type: doc.subjectClaim === 'pairwise' ? 'pairwise' : 'public',
  }
}

const wireNames: ReadonlyMap<string, string> = new Map([
  ...Object.entries(settings).map(([name, [field]]) => [field, name] as const),
  ['logoUri', 'logo_uri'],
  ['grantTypes', 'grant_types'],
  ['scopes', 'scope'],
  ['tokenEndpointAuthMethod', 'token_endpoint_auth_method'],
  ['publicClient', 'token_endpoint_auth_method'],
  ['subjectClaim', 'subject_type'],
  ['webOrigins', 'redirect_uris'],
])

/** A text about fields of the document, in the names of the metadata. */
export const inWireNames = (text: string): string =>
  text.replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, (field) => wireNames.get(field) ?? field)

/** The name in the metadata of the field that a pointer into the document leads to. */
export const wireNameOfField = (pointer: string): string => {
  const [, field = ''] = pointer.split('/')
  return wireNames.get(field) ?? field
}
