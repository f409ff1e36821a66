/**
 * Documents of an estate that were renamed by other means than its applies: over REST, by an import. The files still have the
 * key that the last apply gave them, and must find the document by it instead of making another one.
 */

import type { Kysely } from 'kysely'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { keptIn, newestOperations } from '../history/history.ts'

/** The newest so many are looked at. */
const mostRenames = 10_000

/** The revision of the last apply that wrote each document. */
const lastApplied = async (
  db: Kysely<Tables>,
  realm: string,
  ids: readonly string[],
  asOf: number,
): Promise<ReadonlyMap<string, number>> => {
  const rows = await readInSlices(ids, (part) =>
    db
      .selectFrom('revision_operations')
      .innerJoin('revisions', (join) =>
        join
          .onRef('revisions.realm', '=', 'revision_operations.realm')
          .onRef('revisions.revision', '=', 'revision_operations.revision'),
      )
      .select(['document_id', (eb) => eb.fn.max('revision_operations.revision').as('revision')])
      .where('revision_operations.realm', '=', realm)
      .where('document_id', 'in', part)
      .where('revisions.source', '=', 'changeset')
      .where('revision_operations.revision', '<=', asOf)
      .groupBy('document_id')
      .execute(),
  )
  return new Map(rows.map(({ document_id, revision }) => [document_id, Number(revision)]))
}

/** The key that the last apply gave, by the id of the document, where another one took its place since. */
export const appliedKeys = async (
  db: Kysely<Tables>,
  realm: string,
  documents: Iterable<{
    readonly id: string
    readonly key: string
    readonly owner: string | null
  }>,
  asOf: number,
): Promise<ReadonlyMap<string, string>> => {
  const owned = new Map(
    [...documents].flatMap((one) => (one.owner === null ? [] : [[one.id, one]])),
  )
  if (owned.size === 0) return new Map()
  const renamed = await newestOperations(db, realm, {
    op: 'rename',
    upTo: asOf,
    most: mostRenames,
    columns: ['document_id', 'before'],
  })
  const renames = renamed.filter((one) => owned.has(one.document_id))
  if (renames.length === 0) return new Map()
  const applied = await lastApplied(
    db,
    realm,
    [...new Set(renames.map(({ document_id }) => document_id))],
    asOf,
  )
  const keys = new Map<string, string>()
  for (const { document_id, revision, before } of renames) {
    const since = applied.get(document_id)
    const key = keptIn(before)?.key
    // They come newest first: the oldest after the apply left the key that the apply gave.
    if (since !== undefined && revision > since && key !== undefined) keys.set(document_id, key)
  }
  return new Map([...keys].filter(([id, key]) => owned.get(id)?.key !== key))
}
