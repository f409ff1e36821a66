/** The rows of agents: where each stands in its lifecycle, and the users it acts for. */

export interface AgentStateRow {
  agent_id: string
  status: 'PENDING' | 'ACTIVE' | 'SUSPENDED' | 'REVOKED'
  last_reviewed_at: number | null
  next_review_at: number | null
  last_used_at: number | null
  /** Also one who was deleted since. */
  owner_user_id: string | null
  /** When the owner was last reminded of the review. */
  reminded_at: number | null
  /** The rule that suspends it, once it is recorded as an event. */
  noted_rule: string | null
}

/** What an agent asks a user to confirm this once, and what the user decided. */
export interface DelegationConfirmationRow {
  id: string
  realm: string
  user_id: string
  agent_id: string
  /** Sorted, as JSON, as are the targets. */
  scopes: string
  targets: string
  status: 'PENDING' | 'APPROVED' | 'DENIED'
  /** Of the request while it is PENDING, then of the decision. */
  expires_at: number
}

/** That an agent acts, or acted, for a user. */
export interface AgentDelegationRow {
  realm: string
  user_id: string
  agent_id: string
  /** The client that it acted through. */
  client_id: string
  /** Of the last token. */
  scopes: string
  created_at: number
  last_used_at: number
  revoked_at: number | null
}
