/**
 * Audit events: what is recorded, and the recorder that writes them in the same transaction as what they tell
 * of. They go to stdout only once they are durable, so that no line ever speaks of something that did not happen.
 */

import { type EventCategory, type EventType, eventTypes } from '#schemas/event-types.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, StatementResult, Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { AuditEventRow } from '#server/storage/tables.ts'

export interface AuditEvent {
  readonly type: EventType
  readonly realm: string
  /** The id of a known user or client, else the name that was tried. */
  readonly actor: string
  readonly sourceIp: string
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly resourceType?: string
  readonly resourceId?: string
  readonly detail?: string
  /** The revision that the write made, of a configuration write. */
  readonly revision?: number
}

/** The form that is answered, printed and sent (spec part 2). */
export interface AuditRecord {
  readonly id: string
  readonly ts: string
  readonly kind: 'audit'
  readonly category: EventCategory
  readonly type: EventType
  readonly realm: string
  readonly actor: string
  readonly sourceIp: string
  readonly resourceType: string | null
  readonly resourceId: string | null
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly detail: string | null
}

export interface Recorder {
  /** Commits the statements and the events together; see `Storage.commit`. */
  commit(
    statements: readonly Statement[],
    events: readonly AuditEvent[],
  ): Promise<StatementResult[]>
  /** Appends the statements and the events together; see `Storage.append`. */
  append(
    statements: readonly Statement[],
    events: readonly AuditEvent[],
  ): Promise<StatementResult[]>
}

export type AuditSink = (record: AuditRecord) => void

export const recordOf = (row: Omit<AuditEventRow, 'id' | 'revision'>): AuditRecord => ({
  id: row.event_id,
  ts: new Date(row.at).toISOString(),
  kind: 'audit',
  category: row.category as EventCategory,
  type: row.type as EventType,
  realm: row.realm,
  actor: row.actor,
  sourceIp: row.source_ip,
  resourceType: row.resource_type,
  resourceId: row.resource_id,
  outcome: row.outcome as AuditRecord['outcome'],
  detail: row.detail,
})

const rowOf = (event: AuditEvent, at: number): Omit<AuditEventRow, 'id'> => ({
  event_id: newId(),
  realm: event.realm,
  at,
  category: eventTypes[event.type],
  type: event.type,
  actor: event.actor,
  source_ip: event.sourceIp,
  resource_type: event.resourceType ?? null,
  resource_id: event.resourceId ?? null,
  outcome: event.outcome,
  detail: event.detail ?? null,
  revision: event.revision ?? null,
})

export const createRecorder = (
  storage: Storage,
  clock: Clock,
  sinks: readonly AuditSink[],
): Recorder => {
  const recording =
    (write: (statements: readonly Statement[]) => Promise<StatementResult[]>) =>
    async (statements: readonly Statement[], events: readonly AuditEvent[]) => {
      const at = clock.now()
      const rows = events.map((event) => rowOf(event, at))
      const results = await write([...statements, ...insertRows(storage.db, 'audit_events', rows)])
      for (const row of rows) for (const sink of sinks) sink(recordOf(row))
      return results.slice(0, statements.length)
    }
  return {
    commit: recording((statements) => storage.commit(statements)),
    append: recording((statements) => storage.append(statements)),
  }
}
