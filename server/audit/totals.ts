/**
 * How many events of which type a realm has. Counting a million rows for every page would take longer than the page,
 * and a counter that every insert touches would make writers queue. So events are counted in arrears: the totals
 * cover all events up to a mark, the few after it are counted on request, and a job moves the mark.
 */

import { sql } from 'kysely'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import { createEventScan, type EventSelection } from './event-scan.ts'

/** An id is drawn before its transaction commits: what is younger may still appear below the mark. */
const settledMs = 60_000

/** What totals are kept by. */
export type EventFilter = Pick<EventSelection, 'types' | 'outcome'>

export interface Totals {
  /** Events of the realm with an id below `before` that pass the filter. */
  count(realm: string, filter: EventFilter, before: number): Promise<number>
  /** Counts what has settled since the last time. */
  advance(realm: string): Promise<void>
  /** Takes events off the totals, to be committed with their removal; they must have been counted. */
  uncount(realm: string, ids: readonly number[]): Statement
  /** The largest id that is in the totals. */
  countedUpTo(realm: string): Promise<number>
}

export const createTotals = (storage: Storage, clock: Clock): Totals => {
  const { db } = storage
  const scan = createEventScan(storage)

  const markOf = async (realm: string): Promise<number> => {
    const row = await db
      .selectFrom('audit_marks')
      .select('upto')
      .where('realm', '=', realm)
      .executeTakeFirst()
    return row?.upto ?? 0
  }

  const counted = async (realm: string, { types, outcome }: EventFilter): Promise<number> => {
    let query = db.selectFrom('audit_totals').where('realm', '=', realm)
    if (types) query = query.where('type', 'in', types.length > 0 ? types : ['none'])
    if (outcome !== undefined) query = query.where('outcome', '=', outcome)
    const { n } = await query
      .select((eb) => eb.fn.sum<number | null>('events').as('n'))
      .executeTakeFirstOrThrow()
    return Number(n ?? 0)
  }

  /** Adds what a selection of events holds, or takes it off. */
  const addition = (realm: string, sign: 1 | -1, where: ReturnType<typeof sql>): Statement =>
    statement({
      compile: () =>
        sql`insert into audit_totals (realm, type, outcome, events)
          select realm, type, outcome, ${sql.lit(sign)} * count(*) from audit_events
          where realm = ${realm} and ${where} group by realm, type, outcome
          on conflict (realm, type, outcome)
          do update set events = audit_totals.events + excluded.events`.compile(db),
    })

  return {
    count: async (realm, filter, before) => {
      const mark = await markOf(realm)
      const total = await counted(realm, filter)
      return before > mark
        ? total + (await scan.count(realm, filter, mark, before))
        : total - (await scan.count(realm, filter, before - 1, mark + 1))
    },

    advance: async (realm) => {
      const mark = await markOf(realm)
      const newest = await db
        .selectFrom('audit_events')
        .select((eb) => eb.fn.max('id').as('id'))
        .where('realm', '=', realm)
        .where('id', '>', mark)
        .where('at', '<', clock.now() - settledMs)
        .executeTakeFirstOrThrow()
      if (newest.id === null) return
      const upto = Number(newest.id)
      const move =
        mark === 0
          ? insertRows(db, 'audit_marks', [{ realm, upto }])
          : [
              guarded(
                db
                  .updateTable('audit_marks')
                  .set({ upto })
                  .where('realm', '=', realm)
                  .where('upto', '=', mark),
                'mark',
              ),
            ]
      try {
        await storage.commit([...move, addition(realm, 1, sql`id > ${mark} and id <= ${upto}`)])
      } catch (error) {
        // Another node has just moved the mark.
        if (!(error instanceof GuardFailedError)) throw error
      }
    },

    uncount: (realm, ids) => addition(realm, -1, sql`id in (${sql.join(ids)})`),
    countedUpTo: markOf,
  }
}
