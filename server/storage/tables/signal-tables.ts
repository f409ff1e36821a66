/** Rows of the transmitter of security events. */

/** What sealed values of a stream are bound to, beside its realm and id. */
export const signalStreamKind = 'signal-stream'
export const authorizationPointer = '/delivery/authorization_header'

/** A stream of a client. */
export interface SignalStreamRow {
  id: string
  realm: string
  /** The id of the client's document. */
  client_id: string
  /** Which of the streams of the client it is; unique per client. */
  slot: number
  /** Where events are pushed to; null where the receiver polls. */
  endpoint_url: string | null
  /** JSON of the sealed value of the header `Authorization` of a push; null where there is none. */
  authorization_header: string | null
  /** JSON of the event types that the receiver asked for; of null where it asked for no types in particular. */
  events: string
  description: string | null
  status: 'enabled' | 'paused' | 'disabled'
  status_reason: string | null
  created_at: number
  /** When a verification event was last asked for; 0 where none was. */
  verified_at: number
  /** When the receiver last called an endpoint about the stream, to within an hour. */
  active_at: number
}

/** A user whose events the receiver has added or removed, by the `sub` of the client. */
export interface SignalSubjectRow {
  stream_id: string
  /** The `sub` of a user, or `mailto:` and an address. */
  subject: string
  is_removed: number
  changed_at: number
}

/** An event that its receiver has not acknowledged; the id is its `jti`. */
export interface SignalEventRow {
  id: string
  stream_id: string
  /** JSON of the claims, which are signed when they are sent. */
  claims: string
  /** 1 where it tells that the stream has been stopped, and is sent although it has been. */
  is_about_stream: number
  created_at: number
}
