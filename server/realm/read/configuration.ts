/**
 * A realm's configuration as of one revision, read page by page without a lock and without keeping the event loop. What
 * others write meanwhile is read again, so that the end is one revision, whatever it was at the start.
 */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { contentHash } from '#schemas/normalize.ts'
import { documentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import * as reads from '#server/storage/documents/reads.ts'
import type { DocumentRow, Tables } from '#server/storage/tables/tables.ts'
import { keptIn, operationsBetween } from '../history/history.ts'

/** A document as it is, or as history kept it. */
export type ConfigDocument = Omit<StoredDocument, 'version' | 'createdAt' | 'weight'>

export interface Configuration {
  readonly realm: string
  readonly revision: number
  /** By id; nothing of origin runtime. */
  readonly documents: ReadonlyMap<string, ConfigDocument>
}

export interface FormerConfiguration extends Configuration {
  /** What was there and no configuration yet: it became so when a file named it. */
  readonly runtime: ReadonlyMap<string, ConfigDocument>
}

type Column = keyof DocumentRow

/** How many rows are read at a time, with their bodies or without: a few milliseconds. */
const pageSizeOf = (columns: readonly Column[]): number => (columns.includes('body') ? 250 : 1000)

type Row<C extends Column> = Pick<DocumentRow, C | 'id' | 'key' | 'origin'>

/** Some columns of the documents, as far as a reader needs them. */
const selection = <C extends Column>(db: Kysely<Tables>, realm: string, columns: readonly C[]) => {
  const pageSize = pageSizeOf(columns)
  const query = () =>
    db
      .selectFrom('documents')
      .select(['id', 'key', 'origin', ...columns])
      .where('realm', '=', realm)
  return {
    pageSize,
    after: (kind: string, key: string | undefined): Promise<unknown> => {
      const all = query().where('kind', '=', kind).orderBy('key').limit(pageSize)
      return (key === undefined ? all : all.where('key', '>', key)).execute()
    },
    withIds: (ids: readonly string[]): Promise<unknown> => query().where('id', 'in', ids).execute(),
  } as {
    readonly pageSize: number
    // The builder cannot tell the columns of a list; the list is what is selected.
    after(kind: string, key: string | undefined): Promise<Row<C>[]>
    withIds(ids: readonly string[]): Promise<Row<C>[]>
  }
}

/** Documents by id, and the revision that they are of; nothing of origin runtime unless it is asked for. */
export interface AtRevision<T> {
  readonly revision: number
  readonly documents: Map<string, T>
}

/** Undefined where there is no such realm. */
export const readAtOneRevision = async <C extends Column, T>(
  db: Kysely<Tables>,
  realm: string,
  kinds: readonly string[],
  columns: readonly C[],
  shape: (row: Row<C>) => T,
  withRuntime = false,
): Promise<AtRevision<T> | undefined> => {
  const start = await reads.realmRow(db, realm)
  if (!start) return undefined
  const rows = selection(db, realm, columns)
  const documents = new Map<string, T>()
  const take = (found: readonly Row<C>[]): void => {
    for (const row of found)
      if (withRuntime || row.origin !== 'runtime') documents.set(row.id, shape(row))
  }

  for (const kind of kinds)
    for (let last: string | undefined; ; ) {
      const page = await rows.after(kind, last)
      take(page)
      if (page.length < rows.pageSize) break
      last = page.at(-1)?.key
      await breathe()
    }

  const wanted = new Set(kinds)
  for (let { revision } = start; ; ) {
    const now = await reads.realmRow(db, realm)
    if (!now) return undefined
    // One of the same name, made after this one was deleted.
    if (now.created_at !== start.created_at)
      return readAtOneRevision(db, realm, kinds, columns, shape, withRuntime)
    if (now.revision === revision) return { revision, documents }
    const span = { above: revision, upTo: now.revision }
    for await (const operations of operationsBetween(db, realm, span)) {
      const touched = operations.filter(({ kind }) => wanted.has(kind))
      const ids = touched.map(({ document_id }) => document_id)
      for (const id of ids) documents.delete(id)
      if (ids.length > 0) take(await rows.withIds(ids))
    }
    revision = now.revision
  }
}

const everyColumn = [
  'realm',
  'kind',
  'parent_id',
  'owner',
  'protected',
  'version',
  'hash',
  'body',
  'sealed',
  'created_at',
  'updated_at',
] as const

/** Undefined where there is no such realm. */
export const readConfiguration = async (
  db: Kysely<Tables>,
  realm: string,
  kinds: readonly string[],
  withRuntime = false,
): Promise<Configuration | undefined> => {
  const found = await readAtOneRevision<(typeof everyColumn)[number], ConfigDocument>(
    db,
    realm,
    kinds,
    everyColumn,
    documentOf,
    withRuntime,
  )
  return found && { realm, ...found }
}

/** The same as it was at an earlier revision: what history kept from before the first change since. */
export const configurationAt = async (
  db: Kysely<Tables>,
  present: Configuration,
  revision: number,
  kinds: readonly string[],
): Promise<FormerConfiguration> => {
  const { realm } = present
  const wanted = new Set(kinds)
  const documents = new Map(present.documents)
  const runtime = new Map<string, ConfigDocument>()
  const undone = new Set<string>()
  const span = { above: revision, upTo: present.revision }
  for await (const operations of operationsBetween(db, realm, span))
    for (const { document_id: id, kind, before } of operations) {
      if (undone.has(id) || !wanted.has(kind)) continue
      undone.add(id)
      documents.delete(id)
      const kept = keptIn(before)
      if (!kept) continue
      const former = { id, realm, kind, ...kept, hash: contentHash(kept.body), updatedAt: 0 }
      if (kept.origin === 'runtime') runtime.set(id, former)
      else documents.set(id, former)
    }
  return { realm, revision, documents, runtime }
}
