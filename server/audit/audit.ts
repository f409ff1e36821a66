/**
 * Audit events: their fields, and the recorder that writes them in the same transaction as the change. An event goes to
 * stdout only once it is durable, so that no line speaks of a change that was not committed.
 */

import type { AuditRecord } from '#schemas/wire/events.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, StatementResult, Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { AuditEvent } from './event.ts'
import type { PersonalKeys } from './personal-keys.ts'
import { prepare } from './records.ts'

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

export interface RecorderParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'append'>
  readonly clock: Clock
  readonly personalKeys: PersonalKeys
  readonly sinks: readonly AuditSink[]
}

export const createRecorder = ({
  storage,
  clock,
  personalKeys,
  sinks,
}: RecorderParts): Recorder => {
  const recording =
    (write: (statements: readonly Statement[]) => Promise<StatementResult[]>) =>
    async (statements: readonly Statement[], events: readonly AuditEvent[]) => {
      const { rows, records } = await prepare(events, clock.now(), personalKeys)
      const results = await write([...statements, ...insertRows(storage.db, 'audit_events', rows)])
      for (const record of records) for (const sink of sinks) sink(record)
      return results.slice(0, statements.length)
    }
  return {
    commit: recording((statements) => storage.commit(statements)),
    append: recording((statements) => storage.append(statements)),
  }
}
