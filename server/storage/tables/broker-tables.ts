/** The rows of identity providers: links, trips of browsers, sessions there, and what mappers gave. */

export interface FederatedLinkRow {
  id: string
  realm: string
  /** The id of the provider's document, which a rename of its alias keeps. */
  provider: string
  /** The alias at the time of the link: a provider that replaces a deleted one under it takes over the link. */
  alias: string
  issuer: string
  subject: string
  user_id: string
  /** The name of the account there, for people to read. */
  username: string | null
  created_at: number
  last_login_at: number | null
  /** JSON of the sealed tokens (`storeToken`). */
  tokens: string | null
}

/** A role or group that a mapper of a provider gave a user; one that was given by hand is not in it. */
export interface MappedMembershipRow {
  user_id: string
  /** The id of the provider's document. */
  provider: string
  /** The kind of the target. */
  kind: string
  target_id: string
}

/** A browser on its way to a provider and back; by the digest of the state. */
export interface BrokerTripRow {
  id: string
  realm: string
  /** The id of the provider's document. */
  provider: string
  /** Digest of the browser's cookie. */
  browser: string
  /** The trip, encrypted. */
  data: string
  /** An answer that came by a cross-site POST, until the browser fetches it with its cookies; encrypted. */
  arrival: string | null
  expires_at: number
}

/** The session at a provider that a session here came from. */
export interface BrokerSessionRow {
  sid: string
  provider: string
  realm: string
  user_id: string
  issuer: string
  subject: string
  /** `sid` or SessionIndex at the provider. */
  upstream_sid: string | null
  /** A digest of the name there. */
  upstream_name: string | null
  /** ID token and name, encrypted. */
  data: string
  created_at: number
  expires_at: number
}
