/** The rows of what belongs to the audit trail beside its events. */

/** What the personal data of one user in the audit trail is sealed under. */
export interface PersonalKeyRow {
  user_id: string
  realm: string
  /** JSON of a sealed value; null once it is destroyed. */
  key: string | null
}

export interface AuditEmissionRow {
  name: string
  enabled: number
  http_url: string
  /** JSON of a sealed value. */
  auth: string | null
  /** JSON array. */
  categories: string
  timeout_ms: number
}

/** Events of a realm under a hash that continues the one of the block before. */
export interface AuditBlockRow {
  realm: string
  n: number
  /** The smallest and the largest id in it; the ranges of blocks may overlap. */
  first_id: number
  last_id: number
  events: number
  newest_at: number
  sealed_at: number
  /** A line for every event, by id: what `chain.ts` makes of it; null once retention has removed them. */
  leaves: string | null
  /** The digest of the leaves. */
  root: string
  previous: string
  hash: string
}

export interface AuditMarkRow {
  realm: string
  /** Events up to this id are in the totals. */
  upto: number
}

export interface AuditTotalRow {
  realm: string
  type: string
  outcome: string
  events: number
}
