/** The audit trail as it grows, as server-sent events. */

import { type RawBuilder, sql } from 'kysely'
import { invalid, Problem } from '#schemas/problems.ts'
import { type EventStreams, isPosition } from '#server/audit/stream.ts'
import type { Storage } from '#server/storage/contract.ts'
import { refusal } from '#server/storage/values.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { actorIds } from './event-details.ts'
import { eventFilters, filterColumns } from './list-events.ts'

export interface StreamEventsParts {
  readonly storage: Storage
  readonly eventStreams: EventStreams
}

const mediaType = 'text/event-stream'

const conditionOf = (
  realm: string,
  query: Readonly<Record<string, unknown>>,
  actors: readonly string[],
): RawBuilder<boolean> => {
  const parts = filterColumns
    .filter((column) => query[column] !== undefined)
    .map((column) => sql`${sql.ref(column)} = ${query[column]}`)
  if (actors.length > 0) parts.push(sql`actor in (${sql.join(actors)})`)
  return sql`${sql.join([sql`realm = ${realm}`, ...parts], sql` and `)}`
}

/** From where on: the id of the last event that the client has seen. */
const lastSeen = (header: string | string[] | undefined): string | undefined => {
  if (header === undefined || header === '') return undefined
  if (typeof header === 'string' && isPosition(header)) return header
  throw invalid([
    { field: 'last-event-id', code: 'format', message: 'must be the id of an event of a stream' },
  ])
}

export const streamEvents = ({ storage, eventStreams }: StreamEventsParts): Action => ({
  operationId: 'stream-events',
  method: 'GET',
  path: '/events/stream',
  permission: 'view-events',
  resourceType: 'events',
  summary: 'Audit events as they happen, as server-sent events',
  query: bodyOf(eventFilters, []),
  headers: {
    type: 'object',
    properties: {
      'last-event-id': {
        type: 'string',
        maxLength: 40,
        'x-described': { pattern: '^[0-9]{1,20}:[0-9]{1,16}$' },
        description: 'The id of the last event that was seen: what came after it is sent first.',
      },
    },
  },
  reply: {
    status: 200,
    schema: {
      description:
        'An event for each audit event, whose data is what `GET /events` lists. Comments keep the connection open. ' +
        'It ends when the session or the permission does.',
      content: { [mediaType]: { schema: { type: 'string' } } },
    },
  },
  handle: async ({ realm, query, caller, request, reply }) => {
    const { accept = '', 'last-event-id': header } = request.headers
    // A caller that expects no stream would wait for its end.
    if (!accept.includes(mediaType) && !accept.includes('*/*'))
      throw new Problem('bad-request', `ask with Accept: ${mediaType}`)
    const reason = refusal((query['actor'] ?? null) as string | null)
    if (reason !== undefined) throw invalid([{ field: 'actor', code: 'format', message: reason }])
    const { actor } = asChecked<{ actor?: string }>(query)
    const actors = actor === undefined ? [] : await actorIds(storage.db, realm, actor)
    const after = lastSeen(header)
    reply.type(mediaType).header('cache-control', 'no-store').header('x-accel-buffering', 'no')
    if (request.method === 'HEAD') return ''
    const stream = eventStreams.open({
      realm,
      where: conditionOf(realm, query, actors),
      after,
      stillAllowed: caller.stillAllowed ?? (async () => false),
    })
    if (!stream)
      throw new Problem('unavailable', 'too many streams are open', { extra: { retryAfter: 30 } })
    return stream
  },
})
