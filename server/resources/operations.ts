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

/** Which document is meant, where its key does not say it: it may be renamed at the same moment, or by this. */
interface Target {
  readonly kind: Kind
  /** The key it has afterwards. */
  readonly key: string
  readonly id?: string
  /** The key it has now. */
  readonly from?: string
}

/** Full state: makes the document, or replaces it, or replaces it under a new key. */
export interface Put extends Target {
  readonly op: 'put'
  /** The new value, or how it follows from the present one; fields that the writer does not own stay so. */
  readonly doc: Doc | ((before: Doc) => Doc)
  /** New values by pointer; a secret that is not named stays as it is. */
  readonly secrets: Readonly<Record<string, string>>
  readonly expect?: Expectation
}

export interface Delete extends Omit<Target, 'from'> {
  readonly op: 'delete'
  readonly expect?: Expectation
}

export type Operation = Put | Delete

export const docOf = ({ doc }: Put, before: Doc | null | undefined): Doc =>
  typeof doc === 'function' ? doc(before ?? {}) : doc

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
