/** The words of OAuth 2.0 and OpenID Connect. Names only; it imports nothing of the server. */

import {
  type grantTypes,
  grantTypeUrns,
  type tokenEndpointAuthMethods,
} from '#schemas/kinds/clients/client.ts'

/** RFC 6749 §4.1.2.1, §5.2; RFC 6750 §3.1; RFC 7009, 8628, 8693, 8707, 9101, 9126, 9449; OIDC Core §3.1.2.6; CIBA §11-13; UMA 2.0 Grant §3.3.6. */
export const errorCodes = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'unsupported_token_type',
  'invalid_scope',
  'invalid_target',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'invalid_token',
  'insufficient_scope',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'authorization_pending',
  'slow_down',
  'expired_token',
  'expired_login_hint_token',
  'unknown_user_id',
  'missing_user_code',
  'invalid_user_code',
  'invalid_binding_message',
  'transaction_failed',
  'interaction_required',
  'login_required',
  'consent_required',
  'account_selection_required',
  'invalid_request_uri',
  'invalid_request_object',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
  'unmet_authentication_requirements',
  'invalid_resource_id',
  'not_found',
  'need_info',
  'request_denied',
  'request_submitted',
] as const
export type ErrorCode = (typeof errorCodes)[number]

export type GrantType = (typeof grantTypes)[number]
export type ClientAuthMethodName = (typeof tokenEndpointAuthMethods)[number]

/** Of `client_assertion` (RFC 7523 §2.2). */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** What proofs of possession may be signed with (RFC 9449 §4.3). */
export const dpopAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const

/** The protocol name of a grant type with a short name. */
export const wireName = (name: GrantType): string =>
  Object.entries(grantTypeUrns).find(([, short]) => short === name)?.[0] ?? name

/** Parameters that may stand more than once in a request (RFC 8707 §2, RFC 8693 §2.1, permissions of an RPT). */
export const repeatable: ReadonlySet<string> = new Set(['resource', 'audience', 'permission'])

export const responseTypes = ['code'] as const
export const codeChallengeMethods = ['S256'] as const
