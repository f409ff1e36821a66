/** The audit trail, newest first. Pages are anchored at `before`, so that new events do not shift them. */

import type { ExpressionBuilder } from 'kysely'
import { categories, eventTypes } from '#schemas/event-types.ts'
import { invalid } from '#schemas/problems.ts'
import type { ReadRecords } from '#server/events/records.ts'
import type { EventFilter, Totals } from '#server/events/totals.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Tables } from '#server/storage/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { type Action, bodyOf } from '../action.ts'

const largest = 500

interface Query {
  readonly type?: string
  readonly actor?: string
  readonly outcome?: string
  readonly category?: string
  readonly dateFrom?: string
  readonly dateTo?: string
  readonly before?: number
  readonly page: number
  readonly size: number
}

export const eventSchema = bodyOf({
  id: { type: 'string' },
  ts: { type: 'string', format: 'date-time' },
  kind: { type: 'string', enum: ['audit'] },
  category: { type: 'string', enum: categories },
  type: { type: 'string', enum: Object.keys(eventTypes) },
  realm: { type: 'string' },
  actor: { type: 'string' },
  sourceIp: { type: 'string', description: '`erased` once the user is.' },
  resourceType: { type: ['string', 'null'] },
  resourceId: { type: ['string', 'null'] },
  outcome: { type: 'string', enum: ['SUCCESS', 'FAILURE'] },
  detail: { type: ['string', 'null'] },
})

/** RFC 3339 has leap seconds; the clock of the events does not. */
const momentIn = (field: string, text: string): number => {
  const moment = Date.parse(text)
  if (Number.isNaN(moment))
    throw invalid([{ field, code: 'format', message: 'must be a time that exists' }])
  return moment
}

/** The types that pass the filters for type and category; undefined means all. */
const typesOf = ({ type, category }: Query): string[] | undefined => {
  if (type === undefined && category === undefined) return undefined
  return Object.entries(eventTypes)
    .filter(([name, its]) => (type ?? name) === name && (category ?? its) === its)
    .map(([name]) => name)
}

const filterOf = (asked: Query): EventFilter => {
  const types = typesOf(asked)
  return {
    ...(types ? { types } : {}),
    ...(asked.outcome === undefined ? {} : { outcome: asked.outcome }),
  }
}

const counting = (eb: ExpressionBuilder<Tables, 'audit_events'>) =>
  eb.fn.countAll<number>().as('total')

/** The filters that a list and a stream of events have in common. */
export const eventFilters = {
  type: { type: 'string', enum: Object.keys(eventTypes) },
  actor: { type: 'string', maxLength: 320 },
  outcome: { type: 'string', enum: ['SUCCESS', 'FAILURE'] },
  category: { type: 'string', enum: categories },
} as const

export const filterColumns = ['type', 'actor', 'outcome', 'category'] as const

export interface EventParts {
  readonly storage: Storage
  readonly totals: Totals
  readonly readRecords: ReadRecords
}

export const listEvents = ({ storage: { db }, totals, readRecords }: EventParts): Action => ({
  operationId: 'list-events',
  method: 'GET',
  path: '/events',
  permission: 'view-events',
  resourceType: 'events',
  summary: 'Audit events, newest first',
  query: bodyOf(
    {
      ...eventFilters,
      dateFrom: { type: 'string', format: 'date-time' },
      dateTo: { type: 'string', format: 'date-time' },
      before: { type: 'integer', minimum: 1, description: 'Anchor of an earlier page.' },
      page: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 0 },
      size: { type: 'integer', minimum: 1, default: 50 },
    },
    [],
  ),
  reply: {
    status: 200,
    schema: bodyOf({
      items: { type: 'array', items: eventSchema },
      total: { type: 'integer' },
      page: { type: 'integer' },
      size: { type: 'integer' },
      before: { type: ['integer', 'null'], description: 'Give it with the next page.' },
    }),
  },
  handle: async ({ realm, query }) => {
    const asked = query as unknown as Query
    const size = Math.min(asked.size, largest)
    // Nobody is called what cannot be stored.
    if (refusal(asked.actor ?? null) !== undefined)
      return { items: [], total: 0, page: asked.page, size, before: null }
    let events = db.selectFrom('audit_events').where('realm', '=', realm)
    for (const column of filterColumns) {
      const value = asked[column]
      if (value !== undefined) events = events.where(column, '=', value)
    }
    if (asked.dateFrom !== undefined)
      events = events.where('at', '>=', momentIn('dateFrom', asked.dateFrom))
    if (asked.dateTo !== undefined)
      events = events.where('at', '<=', momentIn('dateTo', asked.dateTo))
    const newest = await db
      .selectFrom('audit_events')
      .select((eb) => eb.fn.max('id').as('id'))
      .where('realm', '=', realm)
      .executeTakeFirstOrThrow()
    const before = asked.before ?? (newest.id === null ? null : Number(newest.id) + 1)
    if (before === null) return { items: [], total: 0, page: asked.page, size, before: null }
    const anchored = events.where('id', '<', before)
    // By actor or time there are few, and no totals are kept.
    const kept = [asked.actor, asked.dateFrom, asked.dateTo].every((value) => value === undefined)
    const rows = await anchored
      .selectAll()
      .orderBy('id', 'desc')
      .limit(size)
      .offset(asked.page * size)
      .execute()
    const total = kept
      ? await totals.count(realm, filterOf(asked), before)
      : Number((await anchored.select(counting).executeTakeFirstOrThrow()).total)
    return {
      items: await readRecords(rows),
      total,
      page: asked.page,
      size,
      before: total === 0 ? null : before,
    }
  },
})
