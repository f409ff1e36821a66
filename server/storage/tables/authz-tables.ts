/** Rows of authorization services. */

/** A permission ticket (UMA 2.0 Federated Authorization §4.2); by the digest of its value. */
export interface PermissionTicketRow {
  id: string
  realm: string
  /** The id of the resource server's document. */
  client_id: string
  /** The id of the client's document that was asked for more information with it; no other may use it. */
  requester_id: string | null
  /** JSON of the resources and scopes. */
  permissions: string
  expires_at: number
}

/** A scope of a resource that its owner shares with another user, or is asked to share. */
export interface ResourceShareRow {
  id: string
  realm: string
  /** The id of the resource server's document. */
  client_id: string
  resource_id: string
  /** Empty for a resource that has no scopes. */
  scope: string
  owner_id: string
  requester_id: string
  granted: 0 | 1
  created_at: number
  granted_at: number | null
}

/** A policy of an owner about a resource; its parties are in `owner_policy_parties`. */
export interface OwnerPolicyRow {
  id: string
  realm: string
  /** The id of the resource server's document. */
  client_id: string
  resource_id: string
  owner_id: string
  name: string
  description: string | null
  /** JSON of names; empty for all scopes of the resource. */
  scopes: string
  decision_strategy: string
  /** How many parties the requesting party must be or have; one that was deleted still counts here. */
  needed: number
  created_at: number
}

/** A role, client role, group or client by the id of its document, or a user. */
export interface OwnerPolicyPartyRow {
  id: string
  policy_id: string
  document_id: string | null
  user_id: string | null
}
