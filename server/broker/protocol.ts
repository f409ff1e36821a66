/**
 * The interface of a protocol of identity providers: how a browser gets to the provider, and what its answer states about
 * the person. A protocol has no access to users, links and sessions; `open.ts` owns the trip around it.
 */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { IdentityProviderDoc } from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Finding } from '#schemas/wire/findings.ts'

/** An identity provider as a protocol sees it: its document with opened secrets. */
export interface Provider {
  readonly realm: string
  /** The id of its document, which a rename keeps. */
  readonly id: string
  readonly alias: string
  readonly protocol: ProtocolName
  readonly doc: IdentityProviderDoc
  /** With its secrets. */
  readonly config: IdentityProviderDoc['config']
}

export interface Trip {
  readonly provider: Provider
  /** Our address that the answer comes to, as it is registered at the provider. */
  readonly endpoint: string
  /** Opaque, unguessable, single use. */
  readonly state: string
  /** When the browser left, in epoch milliseconds. */
  readonly begunAt: number
  /** The user has to prove who they are again. */
  readonly forceAuthn?: boolean | undefined
  /** An application, or the level of a session, relies on the fresh sign-in: the answer of any provider must prove it. */
  readonly needsProof?: boolean | undefined
  readonly loginHint?: string | undefined
  readonly acr?: readonly string[] | undefined
  readonly locales?: string | undefined
}

/** How the browser gets to the provider. */
export type Departure =
  | { readonly kind: 'redirect'; readonly url: string }
  | {
      readonly kind: 'form'
      readonly action: string
      readonly fields: Readonly<Record<string, string>>
    }

/** What came back, untouched. A parameter that is missing or given twice is undefined. */
export interface Arrival {
  readonly method: 'GET' | 'POST'
  readonly rawQuery: string
  readonly query: (name: string) => string | undefined
  readonly form: (name: string) => string | undefined
}

/** The session at the provider: its end, and what logout in both directions needs. */
export interface UpstreamSession {
  /** `sid` or SessionIndex. */
  readonly id?: string | undefined
  /** Serialised. */
  readonly nameId?: string | undefined
  /** A digest of the name, by which a logout of the provider finds the session where it names no session there. */
  readonly nameKey?: string | undefined
  readonly idToken?: string | undefined
  /** The subject in logout messages, where the key of a link is another. */
  readonly subject?: string | undefined
  /** When it ends there by itself, where the provider says so, in epoch milliseconds. */
  readonly until?: number | undefined
}

/** Tokens of the person at the provider. */
export interface UpstreamTokens {
  readonly accessToken?: string | undefined
  readonly refreshToken?: string | undefined
  readonly idToken?: string | undefined
  /** Of the access token, in epoch milliseconds. */
  readonly expiresAt?: number | undefined
  /** The origin of the token endpoint that gave them: the refresh token is sent nowhere else. */
  readonly givenBy?: string | undefined
}

/** How our sign-out gets to the provider: in the browser, or from server to server. */
export type LogoutWay =
  /** `kept` is JSON, sealed with the trip and handed to `loggedOut`. */
  | { readonly kind: 'browser'; readonly departure: Departure; readonly kept: unknown }
  | { readonly kind: 'server' }

/** The identity that the provider asserts. The key of a link is (provider, issuer, subject), never an address. */
export interface UpstreamIdentity {
  readonly issuer: string
  readonly subject: string
  readonly username?: string | undefined
  readonly email?: string | undefined
  /** The provider vouches for this address in this answer; `trustEmail` decides apart from this whether we believe it. */
  readonly emailVerified: boolean
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
  /** Raw claims or attributes, for mappers. */
  readonly attributes: Readonly<Record<string, readonly string[]>>
  readonly amr?: readonly string[] | undefined
  readonly acr?: string | undefined
  /** Epoch seconds. */
  readonly authTime?: number | undefined
  readonly session?: UpstreamSession | undefined
  readonly tokens?: UpstreamTokens | undefined
}

/** The sessions at the provider that its logout message ends: one of its sessions, or all of a subject. */
export interface EndedUpstream {
  readonly issuer: string
  readonly subject?: string | undefined
  readonly session?: string | undefined
  /** All sessions of a name that is not the subject. */
  readonly nameKey?: string | undefined
  /** Several of its sessions, where the message names them. */
  readonly sessions?: readonly string[] | undefined
  /** Until when the message would be accepted a second time, in epoch milliseconds, and its id. */
  readonly replay?: { readonly id: string; readonly until: number } | undefined
  /** What the browser takes back to the provider; undefined where the status of our answer says it all. */
  readonly answer?: ((isEnded: boolean) => Promise<Departure | undefined>) | undefined
}

export interface BrokerProtocol {
  readonly names: readonly ProtocolName[]
  /** `kept` is JSON, sealed with the trip and handed to `finish`. */
  begin(trip: Trip): Promise<{ readonly departure: Departure; readonly kept: unknown }>
  /** The state in an answer: `state` or `RelayState`. Undefined: nothing waits for the answer. */
  stateOf(arrival: Arrival): string | undefined
  finish(trip: Trip, kept: unknown, arrival: Arrival): Promise<UpstreamIdentity>
  /**
   * Verifies an answer that the provider sent without being asked, where its document allows that. It is an invitation to
   * begin a trip, never a sign-in: who brings it may not be the person it is about (login CSRF).
   */
  unsolicited?(at: Pick<Trip, 'provider' | 'endpoint'>, arrival: Arrival): Promise<void>
  /** What we are to the provider, for its operator: metadata of SAML. */
  describe?(at: {
    readonly provider: Provider
    readonly endpoint: string
    readonly logoutUrl: string
  }): Promise<string>
  /**
   * Verifies an ID-JAG of the provider for this audience: signature, type, issuer, expiry. Throws `UpstreamRefused`. Its other
   * claims are the caller's to judge.
   */
  idJag?(
    provider: Provider,
    token: string,
    audience: string,
  ): Promise<Readonly<Record<string, unknown>>>
  /** New tokens for the refresh token among these; throws `UpstreamRefused`. */
  refresh?(provider: Provider, before: UpstreamTokens): Promise<UpstreamTokens>
  /** Takes our sign-out to the provider; undefined where it offers none. */
  logout?(
    provider: Provider,
    session: UpstreamSession,
    back: { readonly url: string; readonly state: string },
  ): Promise<LogoutWay | undefined>
  /** Ends the session at the provider from server to server. Throws `UpstreamRefused` where it does not confirm that. */
  tellLogout?(provider: Provider, session: UpstreamSession, signal: AbortSignal): Promise<void>
  /** A logout that the provider sends to us, verified; `url` is our address that it came to. */
  endSession?(provider: Provider, arrival: Arrival, url: string): Promise<EndedUpstream>
  /** The answer to a logout of ours, told apart from a logout of the provider by its form alone. */
  logoutAnswer(arrival: Arrival): { readonly state: string | undefined } | undefined
  /**
   * Verifies the answer to the logout that `kept` is of. Throws `UpstreamRefused` where it proves nothing; a reason where the
   * provider did not end every session of the user.
   */
  loggedOut?(
    provider: Provider,
    kept: unknown,
    arrival: Arrival,
    url: string,
  ): Promise<string | undefined>
  /** For `doctor`: connects and says what would fail. */
  check(provider: Provider, endpoint: string): Promise<readonly Finding[]>
}

/**
 * - `denied`: the person or the provider said no.
 * - `invalid-answer`: the answer proves nothing: wrong signature, issuer, audience, nonce, replay.
 * - `unavailable`: the provider cannot be reached, or answers with an error.
 * - `not-allowed`: our configuration refuses the person (tenant, domain, level of assurance) or the provider.
 * - `expired`: there is no such trip in this browser any more.
 * - `not-fresh`: the person had to sign in again there, and nothing proves that they did.
 */
export type RefusalCause =
  | 'denied'
  | 'invalid-answer'
  | 'unavailable'
  | 'not-allowed'
  | 'expired'
  | 'not-fresh'

/** The message goes to the log and the audit event; the page names the provider and a request id, never the details. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused'
  readonly reason: RefusalCause
  constructor(reason: RefusalCause, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A logout that is the provider's own and cannot be carried out: the provider hears so. */
export class LogoutRefused extends UpstreamRefused {
  readonly answer: NonNullable<EndedUpstream['answer']>
  constructor({ reason, message }: UpstreamRefused, answer: LogoutRefused['answer']) {
    super(reason, message)
    this.answer = answer
  }
}
