/** Rows of provisioning: tokens that let others provision, and clients that register themselves. */

/** A bearer token for provisioning: shown once, stored as a digest. */
export interface ProvisioningTokenRow {
  id: string
  realm: string
  purpose: 'initial-access' | 'scim'
  hash: string
  label: string | null
  created_at: number
  expires_at: number | null
  /** How often it may be used, and how often it still may; null means any number. */
  uses: number | null
  remaining: number | null
}

/** A client that registered itself (RFC 7591), or that has a metadata document: what its document does not hold. */
export interface RegisteredClientRow {
  client_id: string
  realm: string
  source: 'registration' | 'metadata-document'
  /** Digest of the registration access token (RFC 7592 §3). */
  token_hash: string | null
  /** JSON of the metadata that is no setting of a client, as it was sent. */
  metadata: string
  registered_at: number
  /** To the day. */
  last_used_at: number
  /** When the metadata document was read, and until when it is good. */
  fetched_at: number | null
  fresh_until: number | null
}
