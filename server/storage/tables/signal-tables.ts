/** Rows of the transmitter of security events. */

/** A stream of a client; each client has one at most. */
export interface SignalStreamRow {
  id: string
  realm: string
  /** The id of the client's document. */
  client_id: string
  /** Where events are pushed to; null where the receiver polls. */
  endpoint_url: string | null
  /** JSON of the event types that the receiver asked for. */
  events: string
  status: 'enabled' | 'paused' | 'disabled'
  created_at: number
}

/** A user whose events the receiver gets, by the `sub` of the client. */
export interface SignalSubjectRow {
  stream_id: string
  subject: string
}

/** An event that its receiver has not acknowledged; the id is its `jti`. */
export interface SignalEventRow {
  id: string
  stream_id: string
  /** JSON of the claims, which are signed when they are sent. */
  claims: string
  created_at: number
}
