/** Responses stored under their idempotency key, so that a repeated request is safe. */

import type { Kysely } from 'kysely'
import { Problem } from '#schemas/problems.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Statement } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

const keptMs = 24 * 60 * 60 * 1000

/** A request that may be repeated: its caller, its key, and the hash that tells its body from another. */
export interface RepeatableRequest {
  readonly realm: string
  readonly caller: Pick<Caller, 'actor' | 'onBehalfOf'>
  readonly key: string
  readonly hash: string
}

/** A key belongs to its caller: another caller with the same key neither gets the reply nor is blocked by it. */
const storedKey = ({ caller: { actor, onBehalfOf = '' }, key }: RepeatableRequest): string =>
  `${actor}:${onBehalfOf}:${key}`

/** The answer that the request got before, if it did; another body under its key is refused. */
export const keptReply = async <T>(
  db: Kysely<Tables>,
  request: RepeatableRequest,
  now: number,
): Promise<T | undefined> => {
  const row = await db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('realm', '=', request.realm)
    .where('key', '=', storedKey(request))
    .where('at', '>', now - keptMs)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.request_hash !== request.hash)
    throw new Problem('conflict', 'this Idempotency-Key came with another body before')
  return JSON.parse(row.reply) as T
}

/** Stored in the transaction that the answer reports: of two requests with one key only one commits. */
export const keepStatements = (
  db: Kysely<Tables>,
  request: RepeatableRequest,
  reply: unknown,
  now: number,
): Statement[] => [
  statement(
    db
      .deleteFrom('idempotency_keys')
      .where('realm', '=', request.realm)
      .where('key', '=', storedKey(request))
      .where('at', '<=', now - keptMs),
  ),
  ...insertRows(db, 'idempotency_keys', [
    {
      realm: request.realm,
      key: storedKey(request),
      request_hash: request.hash,
      reply: JSON.stringify(reply),
      at: now,
    },
  ]),
]

export const forgetRepliesStatement = (db: Kysely<Tables>, now: number): Statement =>
  statement(db.deleteFrom('idempotency_keys').where('at', '<=', now - keptMs))
