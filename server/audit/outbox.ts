/**
 * The audit table as an outbox: its events in the order in which their transactions were committed, read from a
 * position on. The transaction that causes an event writes nothing else, and no event is ever skipped: where numbers
 * are drawn before the commit, rows name their transaction, and a row is read once no transaction under way can
 * precede it any more. A follower keeps a cursor, which a guarded update moves in the transaction of the follower's
 * results, so that of any number of nodes one commits them.
 */

import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AuditRecord } from '#schemas/wire/events.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { AuditEventRow } from '#server/storage/tables/tables.ts'
import type { AuditSink } from './audit.ts'

/** `transaction:id`; the transaction is 0 where ids alone are in order. */
export type Position = string

export interface OutboxEvent extends Selectable<AuditEventRow> {
  /** Reading after it goes on with the next event. */
  readonly position: Position
}

export interface Passage {
  readonly events: readonly OutboxEvent[]
  /** After the last of them. */
  readonly position: Position
  /** There are more already, or there will be in a moment, when transactions under way have ended. */
  readonly more: boolean
}

export interface Outbox {
  /** The next events after a position; of those that are wanted, where a condition is given. */
  read(after: Position, most: number, wanted?: RawBuilder<boolean>): Promise<Passage>
  /** The position before every event that is not yet committed. */
  end(): Promise<Position>
  /** Which events are after a position, as a condition. */
  after(position: Position): RawBuilder<boolean>
  /** Where a follower is; at the end when it is new. */
  cursor(name: string): Promise<Position>
  /** To be committed with whatever was made of the events; fails with the guard `cursor` when another was faster. */
  advance(name: string, from: Position, to: Position): Statement
  /** A sink of the recorder: tells who listens on this node that there is an event. */
  notice: AuditSink
  /** Returns what ends it. */
  listen(listener: AuditSink): () => void
}

/** How positions and events compare, where ids alone are in order and where they are not. */
interface Order {
  readonly position: RawBuilder<string>
  readonly after: (position: Position) => RawBuilder<boolean>
  /** Of events that nothing can precede any more. */
  readonly settled: RawBuilder<boolean>
  readonly by: RawBuilder<unknown>
  readonly end: RawBuilder<{ position: Position }>
}

const split = (position: Position): { xact: string; id: number } => {
  const [xact = '0', id = '0'] = position.split(':')
  return { xact, id: Number(id) }
}

const byId: Order = {
  position: sql`'0:' || id`,
  after: (position) => sql`id > ${split(position).id}`,
  settled: sql`true`,
  by: sql`id`,
  end: sql`select '0:' || coalesce(max(id), 0) as position from audit_events`,
}

const byTransaction: Order = {
  position: sql`xact || ':' || id`,
  after: (position) => {
    const { xact, id } = split(position)
    return sql`(xact, id) > (cast(cast(${xact} as text) as xid8), cast(${id} as bigint))`
  },
  settled: sql`xact < pg_snapshot_xmin(pg_current_snapshot())`,
  by: sql`xact, id`,
  end: sql`select pg_snapshot_xmin(pg_current_snapshot()) || ':0' as position`,
}

export const createOutbox = (storage: Pick<Storage, 'db' | 'dialect' | 'commit'>): Outbox => {
  const { db, dialect } = storage
  const order = dialect.commitsOutOfOrder ? byTransaction : byId
  const listeners = new Set<{ readonly call: AuditSink }>()

  const one = async <T>(query: RawBuilder<T>): Promise<T | undefined> =>
    (await query.execute(db)).rows[0]

  const end: Outbox['end'] = async () => (await one(order.end))?.position ?? '0:0'

  const stored = async (name: string): Promise<Position | undefined> => {
    const row = await db
      .selectFrom('outbox_cursors')
      .select('position')
      .where('name', '=', name)
      .executeTakeFirst()
    return row?.position
  }

  return {
    read: async (after, most, wanted = sql`true`) => {
      const { rows } = await sql<OutboxEvent>`
        select *, ${order.position} as position from audit_events
        where ${wanted} and ${order.after(after)} and ${order.settled}
        order by ${order.by} limit ${sql.lit(most)}`.execute(db)
      const position = rows.at(-1)?.position ?? after
      if (rows.length === most) return { events: rows, position, more: true }
      // Ordered, so that the index finds it: new statistics or none, the table may be long.
      const unsettled = dialect.commitsOutOfOrder
        ? await one(sql`
            select 1 from audit_events where ${wanted} and ${order.after(position)}
            order by ${order.by} limit 1`)
        : undefined
      return { events: rows, position, more: unsettled !== undefined }
    },

    end,
    after: order.after,

    cursor: async (name) => {
      const present = await stored(name)
      if (present !== undefined) return present
      const made = db
        .insertInto('outbox_cursors')
        .values({ name, position: await end() })
        .onConflict((conflict) => conflict.doNothing())
      await storage.commit([statement(made)])
      return (await stored(name)) ?? '0:0'
    },

    advance: (name, from, to) =>
      guarded(
        db
          .updateTable('outbox_cursors')
          .set({ position: to })
          .where('name', '=', name)
          .where('position', '=', from),
        'cursor',
      ),

    notice: (record: AuditRecord) => {
      for (const { call } of listeners) call(record)
    },

    listen: (listener) => {
      // Wrapped, so that the same function listening twice is two listeners.
      const entry = { call: listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
  }
}
