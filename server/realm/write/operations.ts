/** The operations on the configuration of a realm, from REST, changesets, imports and the server itself. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Conditions } from '#server/http/etag.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import type { Origin } from '#server/storage/tables/tables.ts'

/** What must be true of the document before the operation; otherwise nothing is done. */
export interface Expectation {
  readonly exists?: boolean
  /** About the ETag of the document. */
  readonly conditions?: Conditions
  /** The content hash that the caller read; null: it must not exist. */
  readonly hash?: string | null
}

/** Which document is meant, where its key does not say it: it may be renamed at the same moment, or by this. */
interface Target {
  readonly kind: Kind
  /** The key it has afterwards. */
  readonly key: string
  readonly id?: string
  /** The key it has now, below the key that its parent has afterwards. */
  readonly from?: string
  /**
   * Position in the body of the request, as a JSON pointer. Errors of such operations are collected and point there; without
   * it the first error ends the write, and names fields of the document.
   */
  readonly at?: string
}

/** Where a document comes from, if it is not the channel that says it. */
export interface Lineage {
  readonly origin: Origin
  readonly owner: string | null
  /** A built-in document of a new realm: the event of the realm's creation covers it. */
  readonly seed?: true
  /** The id and the sealed secrets of a document that a rollback creates again. */
  readonly id?: string
  readonly secrets?: Readonly<Record<string, StoredSecret>>
  /** The version it had last, so that no ETag of then is good again. */
  readonly version?: number
}

/** Full state: makes the document, or replaces it, or replaces it under a new key. */
export interface Put extends Target {
  readonly op: 'put'
  /** The new value, or how it follows from the present one; fields that the writer does not own stay so. */
  readonly doc: Doc | ((before: Doc) => Doc)
  /** New values by pointer; a secret that is not named stays as it is. */
  readonly secrets: Readonly<Record<string, string>>
  /** Pointers of stored secrets that go. */
  readonly forget?: readonly string[]
  readonly expect?: Expectation
  /** It stays under the key that it has by then, which may be another one than `key`. */
  readonly keepsKey?: true
  /** Whether anything may delete it afterwards; as before where it is not said. */
  readonly protected?: boolean
  readonly lineage?: Lineage
  /** The id of the document if this makes it, such as the one that it had in an export; a fresh one unless told. */
  readonly idWhenMade?: string | undefined
  /**
   * The value is in its compact form, was checked, and names others by the keys they have afterwards: nothing is
   * rewritten in it, whatever else the list renames or deletes.
   */
  readonly stated?: true
}

export interface Delete extends Omit<Target, 'from'> {
  readonly op: 'delete'
  readonly expect?: Expectation
  /** The user stays, and is no longer declared. */
  readonly release?: true
}

export type Operation = Put | Delete

/** A change of some fields of a document, whatever else is changed at the same moment. */
export const editOf = (
  kind: Kind,
  { id, key }: Pick<StoredDocument, 'id' | 'key'>,
  edit: (before: Doc) => Doc,
  secrets: Put['secrets'] = {},
): Put => ({
  op: 'put',
  kind,
  key,
  id,
  keepsKey: true,
  doc: edit,
  secrets,
  expect: { exists: true },
})

export const docOf = ({ doc }: Put, before: Doc | null | undefined): Doc =>
  typeof doc === 'function' ? doc(before ?? {}) : doc

export const placeOf = (kind: string, key: string): string => `${kind}\n${key}`

/** The channel that a write comes through, and the origin and owner of the documents that it makes. */
export interface WriteChannel {
  readonly via: 'rest' | 'changeset' | 'import' | 'bootstrap' | 'rollback' | 'runtime' | 'metadata'
  readonly origin: Origin
  /** The estate that owns what it writes. */
  readonly owner: string | null
  /** It may write what another estate owns. */
  readonly takeOver?: boolean
  /** Audit events of what it writes, where they are not those of administration. */
  readonly events?: Readonly<Record<'create' | 'update' | 'delete', EventType>>
}

export const restChannel: WriteChannel = { via: 'rest', origin: 'manual', owner: null }
export const bootstrapChannel: WriteChannel = { via: 'bootstrap', origin: 'built-in', owner: null }
/** SCIM, directories: no revision, no history. */
export const runtimeChannel: WriteChannel = { via: 'runtime', origin: 'runtime', owner: null }
/** Clients that register themselves. */
export const registrationChannel: WriteChannel = {
  ...runtimeChannel,
  events: { create: 'CLIENT_REGISTER', update: 'CLIENT_UPDATE', delete: 'CLIENT_DELETE' },
}
