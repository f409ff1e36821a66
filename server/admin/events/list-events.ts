/** The audit trail, newest first. Pages are anchored at `before`, so that new events do not shift them. */

import { invalid } from '#schemas/problems.ts'
import { categories, eventTypes } from '#schemas/wire/event-types.ts'
import type { AuditRecord, EventDetails, EventPage } from '#schemas/wire/events.ts'
import { createEventScan, type EventSelection, endOfEvents } from '#server/audit/event-scan.ts'
import type { ReadRecords } from '#server/audit/records.ts'
import type { EventFilter, Totals } from '#server/audit/totals.ts'
import { createTurns } from '#server/http/limits/turns.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Storage } from '#server/storage/contract.ts'
import { refusal } from '#server/storage/values.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { changedMembers } from '../realms/changesets.ts'
import { actorsMeant, withDetails } from './event-details.ts'

const largest = 500

interface Query {
  readonly type?: string
  readonly actor?: string
  readonly outcome?: string
  readonly category?: string
  readonly dateFrom?: string
  readonly dateTo?: string
  readonly before?: number
  readonly cursor?: number
  readonly changes: boolean
  readonly page: number
  readonly size: number
}

const eventFields = {
  id: { type: 'string' },
  ts: { type: 'string', format: 'date-time' },
  kind: { type: 'string', enum: ['audit'] },
  category: { type: 'string', enum: categories },
  type: { type: 'string', enum: Object.keys(eventTypes) },
  realm: { type: 'string' },
  actor: { type: 'string' },
  onBehalfOf: {
    type: 'string',
    description: 'The impersonated user; only for events of an impersonation.',
  },
  sourceIp: { type: 'string', description: '`erased` once the user is.' },
  resourceType: { type: ['string', 'null'] },
  resourceId: { type: ['string', 'null'] },
  outcome: { type: 'string', enum: ['SUCCESS', 'FAILURE'] },
  detail: { type: ['string', 'null'] },
}

/** Given where they are known, and not for erased users. */
const details = {
  actorName: { type: 'string', description: 'Username or clientId of the actor.' },
  onBehalfOfName: { type: 'string' },
  resourceName: { type: 'string', description: 'Username, or the key of the document.' },
  revision: { type: 'integer', description: 'The revision that the write made.' },
  changes: {
    ...bodyOf(changedMembers),
    description:
      'Before and after, where `changes=true` asks for it and the caller may read the kind.',
  },
} as const

const listedEvent = bodyOf(
  { ...eventFields, ...details },
  Object.keys(eventFields).filter((field) => field !== 'onBehalfOf'),
)

/** RFC 3339 has leap seconds; the clock of the events does not. */
const momentIn = (field: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
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

/** The filters that a list and a stream of events have in common. */
export const eventFilters = {
  type: { type: 'string', enum: Object.keys(eventTypes) },
  actor: {
    type: 'string',
    maxLength: 320,
    description: 'Id, username, address or clientId; or the name that a stranger tried.',
  },
  outcome: { type: 'string', enum: ['SUCCESS', 'FAILURE'] },
  category: { type: 'string', enum: categories },
} as const

/** Compared as they are; the actor is looked up. */
export const filterColumns = ['type', 'outcome', 'category'] as const

export interface EventParts {
  readonly storage: Storage
  readonly vault: Vault
  readonly totals: Totals
  readonly readRecords: ReadRecords
}

/** Of each realm. */
const mostAtOnce = 2
const mostWaiting = 50

export const listEvents = ({ storage, vault, totals, readRecords }: EventParts): Action => {
  const scan = createEventScan(storage)
  const turns = createTurns({
    atOnce: () => mostAtOnce,
    waiting: mostWaiting,
    what: 'searches of the audit events',
  })

  return {
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
        cursor: {
          type: 'integer',
          minimum: 1,
          description:
            'The `next` of the previous page: continues there at the cost of one page, without a total.',
        },
        changes: {
          type: 'boolean',
          default: false,
          description: 'Whether to include the changed fields of configuration updates.',
        },
        page: { type: 'integer', minimum: 0, maximum: 1_000_000_000, default: 0 },
        size: { type: 'integer', minimum: 1, default: 50 },
      },
      [],
    ),
    reply: {
      status: 200,
      schema: bodyOf({
        items: { type: 'array', items: listedEvent },
        total: { type: ['integer', 'null'], description: 'Null where a cursor is given.' },
        page: { type: 'integer' },
        size: { type: 'integer' },
        before: { type: ['integer', 'null'], description: 'Give it with the next page.' },
        next: {
          type: ['integer', 'null'],
          description: 'Give it as `cursor` for the events after these; null after the last.',
        },
      }),
    },
    handle: async ({
      realm,
      query,
      caller,
      reply,
    }): Promise<EventPage<AuditRecord & EventDetails>> => {
      const asked = asChecked<Query>(query)
      const size = Math.min(asked.size, largest)
      const nothing = { items: [], total: 0, page: asked.page, size, before: null, next: null }
      if (asked.cursor !== undefined && asked.page > 0)
        throw invalid([
          { field: 'page', code: 'exclusive', message: 'give cursor or page, not both' },
        ])
      // No user has a name that cannot be stored.
      if (refusal(asked.actor ?? null) !== undefined) return nothing
      const { type, actor, outcome, category } = asked
      const actors = actor === undefined ? undefined : await actorsMeant(storage.db, realm, actor)
      if (actors?.length === 0) return nothing
      const selection: EventSelection = {
        ...{ type, actors, outcome, category },
        from: momentIn('dateFrom', asked.dateFrom),
        to: momentIn('dateTo', asked.dateTo),
      }
      return turns(realm, async () => {
        const before = asked.before ?? (await endOfEvents(storage, realm))
        if (before === null) return nothing
        // By actor or time no totals are kept: the events are counted.
        const { from, to } = selection
        const kept = [actor, from, to].every((value) => value === undefined)
        const counts = asked.cursor === undefined
        const { rows, total } = await scan.page(realm, selection, {
          below: Math.min(before, asked.cursor ?? before),
          skip: asked.page * size,
          size,
          counts: counts && !kept,
          isWanted: () => !reply.raw.destroyed,
        })
        const ofAll = counts && kept ? await totals.count(realm, filterOf(asked), before) : total
        return {
          items: await withDetails(
            { db: storage.db, vault },
            { realm, caller, withChanges: asked.changes },
            rows,
            await readRecords(rows),
          ),
          total: ofAll,
          page: asked.page,
          size,
          before: ofAll === 0 ? null : before,
          next: rows.length < size ? null : (rows.at(-1)?.id ?? null),
        }
      })
    },
  }
}
