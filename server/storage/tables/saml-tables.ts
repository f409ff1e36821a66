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
}
