/** What can be asked of a realm's configuration, whatever door the request came through. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import type { Origin } from '#server/storage/tables.ts'

/** What must be true of the document before the operation; otherwise nothing is done. */
export interface Expectation {
  readonly exists?: boolean
  /** The ETag that the caller read. */
  readonly etag?: string
}

/** Full state: makes the document, or replaces it, or replaces it under a new key. */
export interface Put {
  readonly op: 'put'
  readonly kind: Kind
  readonly key: string
  /** The key it has now, where that is another one: the document is renamed and keeps its id. */
  readonly from?: string
  readonly doc: Doc
  /** New values by pointer; a secret that is not named stays as it is. */
  readonly secrets: Readonly<Record<string, string>>
  readonly expect?: Expectation
}

export interface Delete {
  readonly op: 'delete'
  readonly kind: Kind
  readonly key: string
  readonly expect?: Expectation
}

export type Operation = Put | Delete

/** The door a write comes through, and whose documents it makes. */
export interface Door {
  readonly source: 'rest' | 'changeset' | 'import' | 'bootstrap' | 'rollback' | 'runtime'
  readonly origin: Origin
  /** The estate that owns what it writes. */
  readonly owner: string | null
}

export const restDoor: Door = { source: 'rest', origin: 'manual', owner: null }
export const bootstrapDoor: Door = { source: 'bootstrap', origin: 'built-in', owner: null }
/** Dynamic registration, SCIM, directories: no revision, no history. */
export const runtimeDoor: Door = { source: 'runtime', origin: 'runtime', owner: null }
