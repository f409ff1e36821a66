/** Audit events as the admin API lists, streams and forwards them, and what a check of their chain finds. */

import type { FieldChange } from '../diff.ts'
import type { EventCategory, EventType } from './event-types.ts'

/** The record of an event in replies, in the log and in deliveries. */
export interface AuditRecord {
  readonly id: string
  readonly ts: string
  readonly kind: 'audit'
  readonly category: EventCategory
  readonly type: EventType
  readonly realm: string
  readonly actor: string
  readonly onBehalfOf?: string
  readonly sourceIp: string
  readonly resourceType: string | null
  readonly resourceId: string | null
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly detail: string | null
}

/** What people want to know beside an event. A list has these, a stream has not. */
export interface EventDetails {
  readonly actorName?: string
  readonly onBehalfOfName?: string
  readonly resourceName?: string
  /** The revision that the write made. */
  readonly revision?: number
  /** Of an update, as far as the caller may read the kind; secrets by name alone. */
  readonly changes?: {
    readonly fields: readonly FieldChange[]
    readonly secrets: readonly string[]
  }
}

/** An event as a client reads it: a newer server may record types that the client does not know. */
export interface EventRecord
  extends Omit<AuditRecord, 'kind' | 'category' | 'type' | 'outcome'>,
    EventDetails {
  readonly category: string
  readonly type: string
  readonly outcome: string
}

/** Where the audit trail is not what was sealed. */
export interface ChainFault {
  /** What happened to the event; `block` where the chain itself was tampered with. */
  readonly kind: 'changed' | 'removed' | 'inserted' | 'block'
  readonly block: number | null
  readonly eventId: string | null
}

/** A page of audit events, newest first. */
export interface EventPage<Event = EventRecord> {
  readonly items: readonly Event[]
  /** Null where a cursor is given. */
  readonly total: number | null
  readonly page: number
  readonly size: number
  /** The anchor of the pages that follow. */
  readonly before: number | null
  /** The cursor of the next page; null after the last. */
  readonly next: number | null
}

/** The result of the check of a part of the audit trail. */
export interface ChainPart {
  readonly blocks: number
  readonly events: number
  /** Not sealed yet; in the last part. */
  readonly unsealed: number | null
  readonly head: { readonly block: number; readonly hash: string; readonly sealedAt: string } | null
  /** The block up to which the events have expired. */
  readonly removedUpTo: number | null
  /** The block whose hash was given; null where none has it. */
  readonly knownBlock: number | null
  readonly fault: ChainFault | null
  /** Where the next part begins; null after the last. */
  readonly next: number | null
}
