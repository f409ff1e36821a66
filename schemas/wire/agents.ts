/** Agents as the admin API lists them. Times are epoch milliseconds. */

export interface AgentRecord {
  readonly id: string
  readonly name: string
  readonly owner: string | null
  readonly clientId: string | null
  readonly status: 'PENDING' | 'ACTIVE' | 'SUSPENDED' | 'REVOKED'
  readonly allowedScopes: readonly string[]
  readonly allowedDelegation: boolean
  readonly expiresAt: number | null
  readonly nextReviewAt: number | null
  readonly lastUsedAt: number | null
}

/** An agent that its owner must confirm. */
export interface ReviewItem {
  readonly agentId: string
  readonly name: string
  readonly ownerUserId: string | null
  readonly owner: string | null
  readonly dueAt: number
  readonly overdue: boolean
}
