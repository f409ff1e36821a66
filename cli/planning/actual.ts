/** A realm as it is: the documents of an export by kind and key, or what a realm that does not exist is born with. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact, contentHash } from '#schemas/normalize.ts'
import { own } from '#schemas/own.ts'
import { type Entry, flatten, withoutSecretFlags } from '#schemas/realm/realm-document.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import type { DocumentMeta, DocumentOrigin, LastChange, RealmExport } from '#schemas/wire/wire.ts'
import { placeKey } from './names.ts'

export interface ActualDocument {
  readonly kind: Kind
  readonly key: string
  /** In the compact form. Made when first asked for: of most documents the hash says enough. */
  readonly body: Doc
  readonly hash: string
  readonly origin: DocumentOrigin
  readonly owner: string | null
  readonly protected: boolean
  /** Pointers of the secrets that it has. */
  readonly storedSecrets: readonly string[]
  readonly lastChange: LastChange | null
  /** The key that the last apply gave it, where it was renamed by other means since. */
  readonly appliedKey: string | null
}

export interface Actual {
  readonly realm: string
  readonly revision: number
  readonly exists: boolean
  /** By `placeKey`. */
  readonly documents: ReadonlyMap<string, ActualDocument>
  /** The actors of deletions, by `placeKey`, where the history was asked for. */
  readonly deleted: ReadonlyMap<string, LastChange>
  /** Sections that were asked for; null: all. Nothing is planned in the others. */
  readonly asked: ReadonlySet<string> | null
  /** Sections that the caller may not read. */
  readonly omitted: ReadonlySet<string>
}

/** An entry that an export does not describe counts as made by hand, which nothing prunes. */
const unknown = { origin: 'manual', owner: null, protected: false } as const

const documentOf = (entry: Entry, meta: DocumentMeta | undefined): ActualDocument => {
  const { kind, key, value } = entry
  let read: { readonly body: Doc; readonly stored: readonly string[] } | undefined
  const reading = () => {
    if (read) return read
    const { doc, stored } = withoutSecretFlags(kind, value)
    read = { body: compact(kind, doc), stored }
    return read
  }
  const { origin, owner, protected: isProtected } = meta ?? unknown
  return {
    kind,
    key,
    get body() {
      return reading().body
    },
    hash: meta?.hash ?? contentHash(reading().body),
    origin,
    // A runtime document belongs to the estate as soon as a file names it, also one that a sender provisions.
    owner: origin === 'runtime' ? null : owner,
    protected: isProtected,
    get storedSecrets() {
      return reading().stored
    },
    lastChange: meta?.lastChange ?? null,
    appliedKey: meta?.appliedKey ?? null,
  }
}

/** `sections`: those that the export was asked for, where it was not asked for all. */
export const actualOf = (exported: RealmExport, sections?: readonly string[]): Actual => {
  const { realm, revision, meta } = exported
  const documents = flatten(exported).entries.map((entry): [string, ActualDocument] => [
    placeKey(entry.kind.kind, entry.key),
    documentOf(entry, own(meta.documents[entry.kind.kind] ?? {}, entry.key)),
  ])
  const deleted = Object.entries(meta.deleted ?? {}).flatMap(([kind, keys]) =>
    Object.entries(keys).map(([key, change]): [string, LastChange] => [
      placeKey(kind, key),
      change,
    ]),
  )
  return {
    realm,
    revision,
    exists: true,
    documents: new Map(documents),
    deleted: new Map(deleted),
    asked: sections === undefined ? null : new Set(sections),
    omitted: new Set(meta.omittedSections),
  }
}

const seeded = seeds.map(({ kind, key, doc }): [string, ActualDocument] => [
  placeKey(kind.kind, key),
  {
    kind,
    key,
    body: doc,
    hash: contentHash(doc),
    origin: 'built-in',
    owner: null,
    protected: false,
    storedSecrets: [],
    lastChange: null,
    appliedKey: null,
  },
])

export const actualOfNewRealm = (realm: string): Actual => ({
  realm,
  revision: 0,
  exists: false,
  documents: new Map(seeded),
  deleted: new Map(),
  asked: null,
  omitted: new Set(),
})
