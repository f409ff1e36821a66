/** The rows of the SAML identity provider. */

import type { AuthorizationRow } from './token-tables.ts'

/** A request for single sign-on that waits for its user; by the digest of its handle. */
export type SamlRequestRow = AuthorizationRow

/** The persistent name of a user at a service provider. */
export interface SamlNameIdRow {
  client_id: string
  user_id: string
  realm: string
  value: string
  created_at: number
}

/** What a service provider was last told of a session: by this it knows what a logout is about. */
export interface SamlSessionRow {
  sid: string
  client_id: string
  realm: string
  user_id: string
  name_id: string
  /** A short name, such as `persistent`. */
  name_id_format: string
  session_index: string
  since: number
  expires_at: number
  /** The ID of the LogoutRequest that the service provider has still to answer. */
  logout_request: string | null
}

/** When the metadata at the `metadataUrl` of a service provider was read last, and how that ended. */
export interface SamlMetadataReadRow {
  client_id: string
  realm: string
  /** The address at the last attempt. */
  url: string
  /** Not before that time again. */
  next_at: number
  /** The last time that it could be read. */
  read_at: number | null
  /** The `validUntil` of what was read then. */
  valid_until: number | null
  /** The last attempt, where it failed. */
  failed_at: number | null
  failure: string | null
}

/** The metadata at the `metadataUrl` of an identity provider as it was last read, and how the last attempt ended. */
export interface ProviderMetadataRow {
  provider_id: string
  realm: string
  /** A digest of the address and of what the document demands of it. */
  source: string
  /** JSON of what is used of it; none before the first success. */
  metadata: string | null
  next_at: number
  read_at: number | null
  valid_until: number | null
  failed_at: number | null
  failure: string | null
}

/** When a key of the realm signed an assertion for a service provider last, to the hour. */
export interface SamlKeyUseRow {
  client_id: string
  kid: string
  realm: string
  used_at: number
}

/** A single logout that the browser takes part in; by the digest of its handle. */
export interface SamlLogoutRow {
  id: string
  realm: string
  data: string
  /** When the browser began to tell the service providers. */
  begun_at: number | null
  expires_at: number
}

/** A response that its service provider fetches; by the digest of the artifact's handle. */
export type SamlArtifactRow = AuthorizationRow
