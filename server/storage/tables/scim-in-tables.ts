/** The rows of inbound provisioning by SCIM. */

export interface ScimTokenRow {
  token_id: string
  /** The sender; tokens of one sender share the external ids of its resources. */
  sender: string
  /** Names with a space between them. */
  scopes: string
  last_used_at: number | null
}

/** A user whom a sender has made or named. */
export interface ScimUserRow {
  user_id: string
  realm: string
  sender: string
  external_id: string | null
}

/** A group that a sender has made or named. */
export interface ScimGroupRow {
  group_id: string
  realm: string
  sender: string
  external_id: string | null
}

export interface ScimGroupVersionRow {
  group_id: string
  version: number
  updated_at: number
}
