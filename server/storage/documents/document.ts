/** A stored configuration document: a row with its JSON read once. */

import type { Doc } from '#schemas/json-schema.ts'
import { complete } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { SealedValue } from '#server/platform/sealing.ts'
import type { DocumentRow, Origin } from '../tables/tables.ts'
import { keptBy } from './kept-by.ts'

/** A secret at rest: sealed, so that it can be opened, or a keyed hash, so that it can be compared. */
export type StoredSecret = SealedValue | { readonly hmac: string }

export interface StoredDocument {
  readonly id: string
  readonly realm: string
  readonly kind: string
  readonly key: string
  readonly parentId: string | null
  readonly origin: Origin
  readonly owner: string | null
  /** Nothing deletes it, directly or along with something else. */
  readonly protected: boolean
  readonly version: number
  readonly hash: string
  /** The compact canonical form. */
  readonly body: Doc
  readonly secrets: Readonly<Record<string, StoredSecret>>
  readonly createdAt: number
  readonly updatedAt: number
  /** About what it costs in memory: twice its text, and a fixed part for its maps. */
  readonly weight: number
}

export const documentOf = (row: DocumentRow): StoredDocument => ({
  id: row.id,
  realm: row.realm,
  kind: row.kind,
  key: row.key,
  parentId: row.parent_id,
  origin: row.origin,
  owner: row.owner,
  protected: row.protected === 1,
  version: row.version,
  hash: row.hash,
  body: JSON.parse(row.body) as Doc,
  secrets: row.sealed === null ? {} : (JSON.parse(row.sealed) as Record<string, StoredSecret>),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  weight: 2 * (row.body.length + row.key.length + (row.sealed?.length ?? 0)) + 600,
})

export const rowOf = (document: StoredDocument): DocumentRow => ({
  id: document.id,
  realm: document.realm,
  kind: document.kind,
  key: document.key,
  parent_id: document.parentId,
  origin: document.origin,
  owner: document.owner,
  version: document.version,
  hash: document.hash,
  body: JSON.stringify(document.body),
  sealed: Object.keys(document.secrets).length > 0 ? JSON.stringify(document.secrets) : null,
  created_at: document.createdAt,
  updated_at: document.updatedAt,
  protected: document.protected ? 1 : 0,
})

const completed = keptBy(({ kind, body }: StoredDocument): Doc => complete(kindNamed(kind), body))

/** The document's value with all defaults; the caller knows its type by the kind. */
export const contentOf = <T = Doc>(document: StoredDocument): T => completed(document) as T

/** Changes with every write of the document, also if it is deleted and created again. */
export const etagOf = (document: Pick<StoredDocument, 'hash' | 'version'>): string =>
  `"${document.version}-${document.hash.slice(0, 12)}"`
