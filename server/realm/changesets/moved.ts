/** The concurrent changes of a realm since the base revision of a changeset, and whether they conflict with it. */

import type { Kysely } from 'kysely'
import { kindNamed } from '#schemas/registry.ts'
import type { Moved } from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { changesOf, keptIn } from '../history/history.ts'
import { mayRead } from '../rules/access.ts'
import { type Operation, placeOf } from '../write/operations.ts'

/** Limits of the reply: revisions, and documents over all of them. */
const mostRevisions = 100
const mostDocuments = 1000

/** Newest first; documents that the caller may not read are left out. */
export const movedSince = async (
  db: Kysely<Tables>,
  realm: string,
  base: number,
  caller: Caller,
): Promise<readonly Moved[]> => {
  const rows = await db
    .selectFrom('revisions')
    .selectAll()
    .where('realm', '=', realm)
    .where('revision', '>', base)
    .orderBy('revision', 'desc')
    .limit(mostRevisions)
    .execute()
  const oldest = rows.at(-1)
  if (!oldest) return []
  const operations = await db
    .selectFrom('revision_operations')
    .select(['revision', 'kind', 'key', 'op'])
    .where('realm', '=', realm)
    .where('revision', '>=', oldest.revision)
    .orderBy('revision', 'desc')
    .orderBy('n')
    .limit(mostDocuments)
    .execute()
  const readable = operations.filter(({ kind }) => mayRead(caller, kindNamed(kind)))
  const byRevision = Map.groupBy(readable, ({ revision }) => revision)
  const who = await changesOf(db, rows)
  return [...who.values()].map((change) => ({
    ...change,
    changes: (byRevision.get(change.revision) ?? []).map(({ kind, key, op }) => ({
      kind,
      key,
      op,
    })),
  }))
}

/** Whether a revision since then touched a document that the operations name, under either of its keys. */
export const touchedSince = async (
  db: Kysely<Tables>,
  realm: string,
  base: number,
  operations: readonly Operation[],
): Promise<boolean> => {
  const own = new Set(
    operations.flatMap((operation) => [
      placeOf(operation.kind.kind, operation.key),
      ...(operation.op === 'put' && operation.from !== undefined
        ? [placeOf(operation.kind.kind, operation.from)]
        : []),
    ]),
  )
  const rows = await db
    .selectFrom('revision_operations')
    .select((eb) => [
      'kind',
      'key',
      eb.case().when('op', '=', 'rename').then(eb.ref('before')).end().as('renamed'),
    ])
    .where('realm', '=', realm)
    .where('revision', '>', base)
    .execute()
  return rows.some(({ kind, key, renamed }) => {
    const former = keptIn(renamed)?.key
    return own.has(placeOf(kind, key)) || (former !== undefined && own.has(placeOf(kind, former)))
  })
}
