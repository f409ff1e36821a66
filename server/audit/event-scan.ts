/**
 * Looks through the events of a realm, newest first, in parts of a bounded number of rows. How many events a filter
 * passes over, or a deep page skips, is up to the tenant: as one query it would block the database for other tenants. Each
 * part is found by an index, whatever the filter; the rest of the filter is applied within it.
 */

import type { Selectable } from 'kysely'
import type { Storage } from '#server/storage/contract.ts'
import type { AuditEventRow } from '#server/storage/tables/tables.ts'

export interface EventSelection {
  readonly type?: string | undefined
  /** Any of these. */
  readonly actors?: readonly string[] | undefined
  readonly outcome?: string | undefined
  readonly category?: string | undefined
  readonly types?: readonly string[] | undefined
  /** Milliseconds, both inclusive. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type StoredEvent = Selectable<AuditEventRow>

export interface ScannedPage {
  readonly rows: readonly StoredEvent[]
  /** Of all events below the start that pass; null where they were not counted. */
  readonly total: number | null
}

export interface PageRequest {
  /** Ids from here on are left out. */
  readonly below: number
  readonly skip: number
  readonly size: number
  /** Whether to go on to the end for the total. */
  readonly counts: boolean
  /** Whether anyone still waits for it; looked at between parts. */
  readonly isWanted: () => boolean
}

export interface EventScan {
  /** How many events pass with an id between the two, both exclusive. */
  count(realm: string, selection: EventSelection, above: number, below: number): Promise<number>
  page(realm: string, selection: EventSelection, request: PageRequest): Promise<ScannedPage>
}

/** Columns that have an index together with realm and id, as the actor has; the one that leaves the fewest events first. */
const indexed = ['type', 'outcome', 'category'] as const

/** Most callers want the first page; who goes deeper does it in fewer, larger parts. */
const firstPart = 500
const largestPart = 8_000
/** Below every id that is ever given. */
const lowestId = 0

interface Span {
  /** The first id above it. */
  readonly below: number
  /** Its lowest id. */
  readonly from: number
}

export const createEventScan = ({ longReads: db }: Pick<Storage, 'longReads'>): EventScan => {
  /** All events that an index finds for the filter, which may still have to be looked at. */
  const found = (realm: string, selection: EventSelection) => {
    const events = db.selectFrom('audit_events').where('realm', '=', realm)
    const { actors } = selection
    // Of several actors no index has the events in order.
    if (actors?.length === 1) return events.where('actor', '=', actors[0] ?? '')
    const lead = indexed.find((column) => selection[column] !== undefined)
    return lead === undefined ? events : events.where(lead, '=', selection[lead] ?? '')
  }

  const matching = (realm: string, selection: EventSelection, { from, below }: Span) => {
    let events = db
      .selectFrom('audit_events')
      .where('realm', '=', realm)
      .where('id', '<', below)
      .where('id', '>=', from)
    for (const column of indexed) {
      const value = selection[column]
      if (value !== undefined) events = events.where(column, '=', value)
    }
    const { actors, types } = selection
    if (actors) events = events.where('actor', 'in', actors)
    if (types) events = events.where('type', 'in', types.length > 0 ? types : ['none'])
    if (selection.from !== undefined) events = events.where('at', '>=', selection.from)
    if (selection.to !== undefined) events = events.where('at', '<=', selection.to)
    return events
  }

  const matchesIn = async (realm: string, selection: EventSelection, span: Span) => {
    const { n } = await matching(realm, selection, span)
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    return Number(n)
  }

  /** From `below` down to `above`, both exclusive. */
  const spans = async function* (
    realm: string,
    selection: EventSelection,
    below: number,
    above: number,
  ): AsyncGenerator<Span> {
    let upper = below
    for (let part = firstPart; ; part = Math.min(2 * part, largestPart)) {
      const last = await found(realm, selection)
        .select('id')
        .where('id', '<', upper)
        .where('id', '>', above)
        .orderBy('id', 'desc')
        .limit(1)
        .offset(part - 1)
        .executeTakeFirst()
      yield { below: upper, from: last?.id ?? above + 1 }
      if (!last) return
      upper = last.id
    }
  }

  return {
    count: async (realm, selection, above, below) => {
      let count = 0
      for await (const span of spans(realm, selection, below, above))
        count += await matchesIn(realm, selection, span)
      return count
    },

    page: async (realm, selection, { below, skip, size, counts, isWanted }) => {
      const rows: StoredEvent[] = []
      let total = 0
      for await (const span of spans(realm, selection, below, lowestId)) {
        const matched = await matchesIn(realm, selection, span)
        const skipped = Math.max(0, skip - total)
        if (rows.length < size && skipped < matched)
          rows.push(
            ...(await matching(realm, selection, span)
              .selectAll()
              .orderBy('id', 'desc')
              .limit(size - rows.length)
              .offset(skipped)
              .execute()),
          )
        total += matched
        if (!isWanted() || (!counts && rows.length >= size)) break
      }
      return { rows, total: counts ? total : null }
    },
  }
}

/** Past the newest event of the realm; null where there is none. */
export const endOfEvents = async (
  { db }: Pick<Storage, 'db'>,
  realm: string,
): Promise<number | null> => {
  const { id } = await db
    .selectFrom('audit_events')
    .select((eb) => eb.fn.max('id').as('id'))
    .where('realm', '=', realm)
    .executeTakeFirstOrThrow()
  return id === null ? null : Number(id) + 1
}

/** Those that are still there, in no order. */
export const eventsByIds = (
  { db }: Pick<Storage, 'db'>,
  ids: readonly number[],
): Promise<StoredEvent[]> =>
  db
    .selectFrom('audit_events')
    .selectAll()
    .where('id', 'in', [...new Set(ids)])
    .execute()
