/** The rows of work that is done later. */

import type { Generated } from 'kysely'

export interface JobRow {
  id: Generated<number>
  /** The id shown outside the server. */
  job_id: string
  queue: string
  /** Null where it is the whole server's. */
  realm: string | null
  /** The lane: at most a few jobs of one target run at the same time. Empty where there is one lane. */
  target: string
  /** Of jobs with the same key in one queue there is one. */
  idempotency_key: string | null
  payload: string
  state: 'waiting' | 'done' | 'dead'
  /** Number of attempts. */
  attempts: number
  /** Earliest time of the next attempt; during an attempt, the end of the lease. */
  next_at: number
  /** Id of the current lease. */
  lease: string | null
  created_at: number
  finished_at: number | null
  /** JSON of the outcome of the last attempt; never a secret. */
  result: string | null
}

export interface OutboxCursorRow {
  name: string
  position: string
}

export interface WebhookSecretRow {
  webhook_id: string
  realm: string
  created_at: number
  /** JSON of the secret before, as it was stored. */
  previous: string | null
  previous_expires_at: number | null
}
