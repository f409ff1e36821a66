/** Streams, their subjects and the events that wait, as rows. */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { SignalEventRow, SignalStreamRow } from '#server/storage/tables/signal-tables.ts'

/** How long an event waits for its receiver. */
const keptMs = 7 * 24 * 3600_000

export type StreamChange = Partial<Pick<SignalStreamRow, 'endpoint_url' | 'events' | 'status'>>

export interface NewSignal {
  readonly id: string
  readonly streamId: string
  readonly claims: Readonly<Record<string, unknown>>
}

export interface Streams {
  ofClient(clientId: string): Promise<SignalStreamRow | undefined>
  byId(id: string): Promise<SignalStreamRow | undefined>
  /** Streams of the realm that are not disabled. */
  ofRealm(realm: string): Promise<SignalStreamRow[]>
  /** Whether any realm has a stream. */
  isAny(): Promise<boolean>
  create(stream: Omit<SignalStreamRow, 'id' | 'created_at'>): {
    readonly row: SignalStreamRow
    readonly statements: Statement[]
  }
  change(id: string, change: StreamChange): Statement
  remove(id: string): Statement
  addSubject(id: string, subject: string): Statement
  removeSubject(id: string, subject: string): Statement
  hasSubject(id: string, subject: string): Promise<boolean>
  /** One that is there already stays: what makes events may run twice. */
  addEvent(signal: NewSignal): Statement
  event(id: string): Promise<SignalEventRow | undefined>
  /** Those that wait, oldest first. */
  waiting(streamId: string, most: number): Promise<SignalEventRow[]>
  acknowledge(streamId: string, ids: readonly string[]): Statement[]
  forgetStatement(): Statement
}

export const createStreams = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Streams => {
  const streams = db.selectFrom('signal_streams').selectAll()
  return {
    ofClient: (clientId) => streams.where('client_id', '=', clientId).executeTakeFirst(),
    byId: (id) => streams.where('id', '=', id).executeTakeFirst(),
    ofRealm: (realm) =>
      streams.where('realm', '=', realm).where('status', '!=', 'disabled').execute(),
    isAny: async () => (await streams.limit(1).executeTakeFirst()) !== undefined,

    create: (stream) => {
      const row = { ...stream, id: newId(), created_at: clock.now() }
      return { row, statements: insertRows(db, 'signal_streams', [row]) }
    },
    change: (id, change) =>
      statement(db.updateTable('signal_streams').set(change).where('id', '=', id)),
    remove: (id) => statement(db.deleteFrom('signal_streams').where('id', '=', id)),

    addSubject: (id, subject) =>
      statement(
        db
          .insertInto('signal_subjects')
          .values({ stream_id: id, subject })
          .onConflict((conflict) => conflict.columns(['stream_id', 'subject']).doNothing()),
      ),
    removeSubject: (id, subject) =>
      statement(
        db.deleteFrom('signal_subjects').where('stream_id', '=', id).where('subject', '=', subject),
      ),
    hasSubject: async (id, subject) =>
      (await db
        .selectFrom('signal_subjects')
        .select('subject')
        .where('stream_id', '=', id)
        .where('subject', '=', subject)
        .executeTakeFirst()) !== undefined,

    addEvent: ({ id, streamId, claims }) =>
      statement(
        db
          .insertInto('signal_events')
          .values({
            id,
            stream_id: streamId,
            claims: JSON.stringify(claims),
            created_at: clock.now(),
          })
          .onConflict((conflict) => conflict.column('id').doNothing()),
      ),
    event: (id) =>
      db.selectFrom('signal_events').selectAll().where('id', '=', id).executeTakeFirst(),
    waiting: (streamId, most) =>
      db
        .selectFrom('signal_events')
        .selectAll()
        .where('stream_id', '=', streamId)
        .orderBy('created_at')
        .orderBy('id')
        .limit(most)
        .execute(),
    acknowledge: (streamId, ids) =>
      inSlices(ids).map((part) =>
        statement(
          db.deleteFrom('signal_events').where('stream_id', '=', streamId).where('id', 'in', part),
        ),
      ),
    forgetStatement: () =>
      statement(db.deleteFrom('signal_events').where('created_at', '<', clock.now() - keptMs)),
  }
}
