/**
 * What one vendor of OpenID Connect or OAuth 2.0 does differently, as data: the addresses that need not be configured, the
 * parameters it lacks, and which claim of it can be believed. The protocol itself is the same for all.
 */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { Arrival, Provider } from '../../protocol.ts'

export type Claims = Readonly<Record<string, unknown>>

/** The person, as the claims of this vendor tell. */
export interface Person {
  /** The stable identifier; never an address or a name that can change hands. */
  readonly subject: string | undefined
  readonly username?: string | undefined
  readonly email?: string | undefined
  /** Only where a claim of this answer says so: a flag per provider is not enough (CVE-2026-56666). */
  readonly emailVerified: boolean
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
}

/** Reads JSON of the vendor's API with the access token of the person. */
export type ReadApi = (url: string) => Promise<unknown>

export interface Vendor {
  readonly name: ProtocolName
  /** Used where the provider's config has no value. */
  readonly preset: {
    readonly discoveryUrl?: string
    readonly issuer?: string
    readonly authorizationUrl?: string
    readonly tokenUrl?: string
    readonly userInfoUrl?: string
    readonly defaultScope: string
    readonly clientAuthMethod?: 'client_secret_basic' | 'client_secret_post'
  }
  /** Whether it takes PKCE by default; some vendors refuse a `code_verifier`. */
  readonly pkce: boolean
  /** Whether its ID tokens carry the nonce; one that is there is checked in any case. */
  readonly returnsNonce: boolean
  /**
   * Whether its answers tell when the person signed in, where that was asked for (OIDC Core §3.1.2.1); one that does is checked
   * in any case. `sometimes` is a matter of how the application is registered there.
   */
  readonly returnsAuthTime: 'always' | 'sometimes' | 'never'
  /** What asks for a fresh sign-in; some vendors refuse the parameters of OpenID Connect, or have their own. */
  readonly freshParameters: Readonly<Record<string, string>>
  /** False: OAuth 2.0 alone. The person is read from the API. */
  readonly hasIdTokens: boolean
  readonly responseMode?: 'form_post'
  /** Beside those of the protocol. */
  readonly parameters?: (provider: Provider) => Readonly<Record<string, string>>
  /** Of the API requests. */
  readonly apiParameters?: (
    provider: Provider,
    accessToken: string,
  ) => Readonly<Record<string, string>>
  /** A claim that the discovery document's issuer has in braces: the real issuer is known from the token alone. */
  readonly issuerClaim?: { readonly template: string; readonly claim: string }
  /** More claims, of requests beside userinfo or of the answer itself. */
  readonly moreClaims?: (read: ReadApi, userInfoUrl: string) => Promise<Claims>
  readonly answerClaims?: (arrival: Arrival) => Claims
  /** Why this person may not use the provider; undefined where they may. */
  readonly refusal?: (claims: Claims, provider: Provider) => string | undefined
  readonly personOf: (claims: Claims, provider: Provider) => Person
}
