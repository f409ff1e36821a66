/**
 * A realm's configuration as of one revision, read page by page without a lock and without keeping the event loop. What
 * others write meanwhile is read again, so that the end is one revision, whatever it was at the start.
 */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { contentHash } from '#schemas/normalize.ts'
import { documentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import * as reads from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables.ts'
import { keptIn, operationsBetween } from './history.ts'

/** A document as it is, or as history kept it. */
export type ConfigDocument = Omit<StoredDocument, 'version' | 'createdAt' | 'weight'>

export interface Configuration {
  readonly realm: string
  readonly revision: number
  /** By id; nothing of origin runtime. */
  readonly documents: ReadonlyMap<string, ConfigDocument>
}

/** How many rows are read at a time: a few milliseconds. */
export const pageSize = 250

const pagesOfKind = async function* (
  db: Kysely<Tables>,
  realm: string,
  kind: string,
): AsyncGenerator<StoredDocument[]> {
  let last: string | undefined
  for (;;) {
    let query = db
      .selectFrom('documents')
      .selectAll()
      .where('realm', '=', realm)
      .where('kind', '=', kind)
    if (last !== undefined) query = query.where('key', '>', last)
    const rows = await query.orderBy('key').limit(pageSize).execute()
    yield rows.map(documentOf)
    if (rows.length < pageSize) return
    last = rows.at(-1)?.key
    await breathe()
  }
}

const isConfiguration = ({ origin }: ConfigDocument): boolean => origin !== 'runtime'

/** Reads again what the revisions since then touched. */
const catchUp = async (
  db: Kysely<Tables>,
  realm: string,
  span: { readonly above: number; readonly upTo: number },
  kinds: ReadonlySet<string>,
  documents: Map<string, ConfigDocument>,
): Promise<void> => {
  for await (const operations of operationsBetween(db, realm, span)) {
    const ids = operations
      .filter(({ kind }) => kinds.has(kind))
      .map(({ document_id }) => document_id)
    for (const id of ids) documents.delete(id)
    for (const document of await reads.byIds(db, realm, ids))
      if (isConfiguration(document)) documents.set(document.id, document)
  }
}

/** Nothing where there is no such realm. */
export const readConfiguration = async (
  db: Kysely<Tables>,
  realm: string,
  kinds: readonly string[],
): Promise<Configuration | undefined> => {
  const start = await reads.realmRow(db, realm)
  if (!start) return undefined
  const documents = new Map<string, ConfigDocument>()
  for (const kind of kinds)
    for await (const page of pagesOfKind(db, realm, kind))
      for (const document of page)
        if (isConfiguration(document)) documents.set(document.id, document)

  for (let { revision } = start; ; ) {
    const now = await reads.realmRow(db, realm)
    if (!now) return undefined
    // One of the same name, made after this one was deleted.
    if (now.created_at !== start.created_at) return readConfiguration(db, realm, kinds)
    if (now.revision === revision) return { realm, revision, documents }
    await catchUp(db, realm, { above: revision, upTo: now.revision }, new Set(kinds), documents)
    revision = now.revision
  }
}

/** The same as it was at an earlier revision: what history kept from before the first change since. */
export const configurationAt = async (
  db: Kysely<Tables>,
  present: Configuration,
  revision: number,
  kinds: readonly string[],
): Promise<Configuration> => {
  const { realm } = present
  const wanted = new Set(kinds)
  const documents = new Map(present.documents)
  const undone = new Set<string>()
  const span = { above: revision, upTo: present.revision }
  for await (const operations of operationsBetween(db, realm, span))
    for (const { document_id: id, kind, before } of operations) {
      if (undone.has(id) || !wanted.has(kind)) continue
      undone.add(id)
      documents.delete(id)
      const kept = keptIn(before)
      if (kept && kept.origin !== 'runtime')
        documents.set(id, {
          id,
          realm,
          kind,
          ...kept,
          hash: contentHash(kept.body),
          updatedAt: 0,
        })
    }
  return { realm, revision, documents }
}
