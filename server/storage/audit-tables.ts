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

/** Events of a realm, in the order of their commits, under a hash that continues the one of the block before. */
export interface AuditBlockRow {
  realm: string
  n: number
  /** The position of its last event. */
  upto: string
  /** The smallest and the largest id in it; those of neighbouring blocks may overlap. */
  first_id: number
  last_id: number
  events: number
  newest_at: number
  /** Id and digest of every event, by id; null once retention has removed them. */
  leaves: string | null
  previous: string
  hash: string
  sealed_at: number
}
