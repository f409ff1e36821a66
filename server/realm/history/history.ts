/** The history of a realm: operations of its revisions, their authors, and the last change of a document. */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { LastChange } from '#schemas/wire/wire.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { RevisionOperationRow, RevisionRow, Tables } from '#server/storage/tables/tables.ts'

/** What history keeps of a document on one side of a change. */
export type Kept = Pick<
  StoredDocument,
  'key' | 'parentId' | 'origin' | 'owner' | 'protected' | 'body' | 'secrets'
>

/** Of before documents could be protected, none was. */
export const keptIn = (side: string | null): Kept | null =>
  side === null
    ? null
    : { protected: false, ...(JSON.parse(side) as Omit<Kept, 'protected'> & Partial<Kept>) }

const pageSize = 250

/** Operations of the revisions above one and up to another, oldest first, page by page. */
export const operationsBetween = async function* (
  db: Kysely<Tables>,
  realm: string,
  { above, upTo }: { readonly above: number; readonly upTo: number },
): AsyncGenerator<RevisionOperationRow[]> {
  let last = { revision: above + 1, n: -1 }
  for (;;) {
    const { revision, n } = last
    const rows = await db
      .selectFrom('revision_operations')
      .selectAll()
      .where('realm', '=', realm)
      .where('revision', '<=', upTo)
      .where((eb) =>
        eb.or([
          eb('revision', '>', revision),
          eb.and([eb('revision', '=', revision), eb('n', '>', n)]),
        ]),
      )
      .where('revision', '>=', revision)
      .orderBy('revision')
      .orderBy('n')
      .limit(pageSize)
      .execute()
    yield rows
    const end = rows.at(-1)
    if (!end || rows.length < pageSize) return
    last = end
    await breathe()
  }
}

/** What those actors are called that still exist: users by their username, clients by their clientId. */
export const actorNames = async (
  db: Kysely<Tables>,
  actors: Iterable<string>,
): Promise<ReadonlyMap<string, string>> => {
  const ids = [...new Set(actors)]
  const names = new Map<string, string>()
  for (let start = 0; start < ids.length; start += pageSize) {
    const some = ids.slice(start, start + pageSize)
    const users = db.selectFrom('users').select(['id', 'username as name']).where('id', 'in', some)
    const clients = db
      .selectFrom('documents')
      .select(['id', 'key as name'])
      .where('id', 'in', some)
      .where('kind', '=', Client.kind)
    for (const { id, name } of await users.unionAll(clients).execute()) names.set(id, name)
  }
  return names
}

/** The actors of these revisions, by number. */
export const changesOf = async (
  db: Kysely<Tables>,
  rows: readonly RevisionRow[],
): Promise<Map<number, LastChange>> => {
  const names = await actorNames(
    db,
    rows.map(({ actor }) => actor),
  )
  return new Map(
    rows.map(({ revision, at, actor, source, message }) => [
      revision,
      { revision, at, actor, actorName: names.get(actor) ?? null, source, message },
    ]),
  )
}

const revisionsNumbered = async (
  db: Kysely<Tables>,
  realm: string,
  numbers: Iterable<number>,
): Promise<Map<number, LastChange>> => {
  const wanted = [...new Set(numbers)]
  const rows: RevisionRow[] = []
  for (let start = 0; start < wanted.length; start += pageSize)
    rows.push(
      ...(await db
        .selectFrom('revisions')
        .selectAll()
        .where('realm', '=', realm)
        .where('revision', 'in', wanted.slice(start, start + pageSize))
        .execute()),
    )
  return changesOf(db, rows)
}

/** The last change of each document, by its id, as of a revision. */
export const lastChanges = async (
  db: Kysely<Tables>,
  realm: string,
  ids: readonly string[],
  asOf: number,
): Promise<ReadonlyMap<string, LastChange>> => {
  const latest = new Map<string, number>()
  for (let start = 0; start < ids.length; start += pageSize) {
    const rows = await db
      .selectFrom('revision_operations')
      .select(['document_id', (eb) => eb.fn.max('revision').as('revision')])
      .where('document_id', 'in', ids.slice(start, start + pageSize))
      .where('revision', '<=', asOf)
      .groupBy('document_id')
      .execute()
    for (const { document_id, revision } of rows) latest.set(document_id, Number(revision))
    await breathe()
  }
  const revisions = await revisionsNumbered(db, realm, latest.values())
  return new Map(
    [...latest].flatMap(([id, revision]) => {
      const change = revisions.get(revision)
      return change ? [[id, change]] : []
    }),
  )
}

/** How often each document was written, deletions included. */
export const timesWritten = async (
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const times = new Map<string, number>()
  for (let start = 0; start < ids.length; start += pageSize) {
    const rows = await db
      .selectFrom('revision_operations')
      .select(['document_id', (eb) => eb.fn.countAll<number>().as('times')])
      .where('document_id', 'in', ids.slice(start, start + pageSize))
      .groupBy('document_id')
      .execute()
    for (const row of rows) times.set(row.document_id, Number(row.times))
  }
  return times
}

/** When each document was made, the last time. */
export const createdAt = async (
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const moments = new Map<string, number>()
  for (let start = 0; start < ids.length; start += pageSize) {
    const rows = await db
      .selectFrom('revision_operations')
      .innerJoin('revisions', (join) =>
        join
          .onRef('revisions.realm', '=', 'revision_operations.realm')
          .onRef('revisions.revision', '=', 'revision_operations.revision'),
      )
      .select(['document_id', 'at'])
      .where('document_id', 'in', ids.slice(start, start + pageSize))
      .where('op', '=', 'create')
      .orderBy('revisions.revision')
      .execute()
    for (const { document_id, at } of rows) moments.set(document_id, at)
  }
  return moments
}

export interface Deletion {
  readonly kind: string
  readonly key: string
  readonly change: LastChange
}

/** Most entries of the reply; older ones are in the revisions. */
const mostDeletions = 10_000

/** About the newest `most` operations of one type up to a revision, newest first; read page by page. */
export const newestOperations = async <Column extends keyof RevisionOperationRow>(
  db: Kysely<Tables>,
  realm: string,
  {
    op,
    upTo,
    most,
    columns,
  }: {
    readonly op: RevisionOperationRow['op']
    readonly upTo: number
    readonly most: number
    readonly columns: readonly Column[]
  },
): Promise<readonly Pick<RevisionOperationRow, Column | 'revision' | 'n'>[]> => {
  type Operation = Pick<RevisionOperationRow, Column | 'revision' | 'n'>
  const rows: Operation[] = []
  let below = { revision: upTo + 1, n: 0 }
  for (;;) {
    const { revision, n } = below
    const page = await db
      .selectFrom('revision_operations')
      .select(['revision', 'n', ...columns])
      .$castTo<Operation>()
      .where('realm', '=', realm)
      .where('op', '=', op)
      .where('revision', '<=', revision)
      .where((eb) => eb.or([eb('revision', '<', revision), eb('n', '<', n)]))
      .orderBy('revision', 'desc')
      .orderBy('n', 'desc')
      .limit(pageSize)
      .execute()
    rows.push(...page)
    const end = page.at(-1)
    if (!end || page.length < pageSize || rows.length >= most) return rows
    below = end
    await breathe()
  }
}

/** What was deleted up to a revision, newest first. */
export const deletionsUpTo = async (
  db: Kysely<Tables>,
  realm: string,
  asOf: number,
): Promise<readonly Deletion[]> => {
  const rows = await newestOperations(db, realm, {
    op: 'delete',
    upTo: asOf,
    most: mostDeletions,
    columns: ['kind', 'key'],
  })
  const revisions = await revisionsNumbered(
    db,
    realm,
    rows.map(({ revision }) => revision),
  )
  return rows.flatMap(({ kind, key, revision }) => {
    const change = revisions.get(revision)
    return change ? [{ kind, key, change }] : []
  })
}
