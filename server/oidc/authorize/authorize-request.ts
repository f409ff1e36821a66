/** An authorize request: as it is sent, and as it is once every step has found it right. */

import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Parameters } from '../parameters.ts'

export type Prompt = 'none' | 'login' | 'consent' | 'select_account'

/** Plain JSON: it is stored while the user signs in. */
export interface AuthorizeRequest {
  readonly redirectUri: string
  readonly responseMode: string
  readonly state?: string
  readonly scope: readonly string[]
  readonly resources: readonly string[]
  readonly prompt: readonly Prompt[]
  /** Of PKCE, always S256. */
  readonly codeChallenge?: string
  readonly nonce?: string
  readonly idTokenClaims?: readonly string[]
  readonly userinfoClaims?: readonly string[]
  /** The user that must sign in: from `id_token_hint` or a `sub` of `claims`. */
  readonly subject?: string
  /** One of these is essential. */
  readonly essentialAcr?: readonly string[]
  /** Levels that are wished for, the best first. */
  readonly acrValues?: readonly string[]
  /** Seconds. */
  readonly maxAge?: number
  readonly loginHint?: string
  /** The identity provider to sign in with, by alias. */
  readonly provider?: string
  /** The organization that tokens are to be for, by alias. */
  readonly organization?: string
  /** In the form of Accept-Language. */
  readonly locales?: string
  /** Thumbprint of the key that the code is bound to (RFC 9449 §10). */
  readonly dpopJkt?: string
  /** The id of the pushed request that it came as. */
  readonly pushed?: string
}

/** What a step sees: the client and where the answer goes are known by then. */
export interface SentRequest {
  readonly issuer: Issuer
  readonly client: TokenClient
  /** Of the request object or the pushed request, where there is one: then nothing else counts (RFC 9101 §6.3). */
  readonly parameters: Parameters
  /** The id of the pushed request. */
  readonly pushed?: string | undefined
  /** True while it is being pushed. */
  readonly pushing?: boolean | undefined
}

/** A rule of authorize requests: throws an OAuthError, or gives what it has read. `read` is what the steps before it gave. */
export type Step = (
  sent: SentRequest,
  read: AuthorizeRequest,
) => Partial<AuthorizeRequest> | Promise<Partial<AuthorizeRequest>>
