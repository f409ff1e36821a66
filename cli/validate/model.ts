/**
 * A realm as its files would make it, as far as files can tell: what they declare, on top of what every realm is born
 * with. What else the server has is not known here.
 */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { compact, complete } from '#schemas/normalize.ts'
import type { Entry, FlatRealm } from '#schemas/realm/realm-document.ts'
import { seedOf, seeds } from '#schemas/realm/seeds.ts'
import { secretFields, splitSecrets } from '#schemas/walk.ts'

/** A document that the files declare. */
export interface Declared {
  readonly entry: Entry
  readonly kind: Kind
  readonly key: string
  readonly pointer: string
  /** As it is written, without secrets; on top of what it was born with where it is built in. */
  readonly doc: Doc
  /** By pointer, as they are written. */
  readonly secrets: Readonly<Record<string, string>>
  /** It fits its schema as far as code must rely on it. */
  readonly sound: boolean
}

export interface Model {
  readonly declared: readonly Declared[]
  readonly settings: SettingsDoc
  has(kind: string, key: string): boolean
  /** With every default in its place; undefined of what is not there or does not fit its schema. */
  find(kind: string, key: string): Doc | undefined
  /** Every document of a kind that fits its schema, by key; the same map at every call. */
  all(kind: string): ReadonlyMap<string, Doc>
  complete(document: Declared): Doc
  keysOf(kind: string): readonly string[]
  /** Whether the files hold the list in which a document of that kind and parent would stand. */
  lists(kind: Kind, parentKey: string | null): boolean
  /** The new key of a document that the files rename. */
  renamed(kind: string, key: string): string | undefined
}

const declare = (entry: Entry, sound: boolean): Declared => {
  const { kind, key, pointer, value, renamedFrom } = entry
  const hasSecrets = secretFields(kind).length > 0
  const { doc, secrets } = hasSecrets ? splitSecrets(kind, value) : { doc: value, secrets: {} }
  const seed = seedOf(kind, renamedFrom ?? key)
  return {
    entry,
    kind,
    key,
    pointer,
    doc: seed === undefined ? doc : { ...seed.doc, ...doc },
    secrets,
    sound,
  }
}

const entryOf = (key: string, doc: Doc | undefined): [string, Doc][] =>
  doc === undefined ? [] : [[key, doc]]

/** `isSound` says of the pointer of an entry whether it fits its schema. */
export const createModel = (
  { entries, listings }: FlatRealm,
  isSound: (pointer: string) => boolean,
): Model => {
  const declared = entries.map((entry) => declare(entry, isSound(entry.pointer)))
  const byKey = new Table<Declared>()
  const newKeys = new Table<string>()
  const born = new Table<Doc>()
  for (const document of declared) {
    const { kind, key, entry } = document
    byKey.set(kind.kind, key, document)
    if (entry.renamedFrom !== null) newKeys.set(kind.kind, entry.renamedFrom, key)
  }
  for (const { kind, key, doc } of seeds)
    if (!byKey.has(kind.kind, key) && !newKeys.has(kind.kind, key))
      born.set(kind.kind, key, complete(kind, doc))
  const lists = new Set(listings.map(({ kind, parentKey }) => `${kind.kind}\n${parentKey ?? ''}`))

  const completed = new Map<Declared, Doc>()
  const completeOf = (document: Declared): Doc => {
    const known = completed.get(document)
    if (known !== undefined) return known
    const value = complete(document.kind, compact(document.kind, document.doc))
    completed.set(document, value)
    return value
  }
  const find = (kind: string, key: string): Doc | undefined => {
    const document = byKey.get(kind, key)
    if (document === undefined) return born.get(kind, key)
    return document.sound ? completeOf(document) : undefined
  }
  const keysOf = (kind: string): readonly string[] => [...byKey.keys(kind), ...born.keys(kind)]
  const listed = new Map<string, ReadonlyMap<string, Doc>>()
  const all = (kind: string): ReadonlyMap<string, Doc> => {
    const found =
      listed.get(kind) ?? new Map(keysOf(kind).flatMap((key) => entryOf(key, find(kind, key))))
    listed.set(kind, found)
    return found
  }
  return {
    declared,
    settings: (find(Settings.kind, Settings.kind) ?? complete(Settings, {})) as SettingsDoc,
    has: (kind, key) => byKey.has(kind, key) || born.has(kind, key),
    find,
    complete: completeOf,
    keysOf,
    all,
    lists: (kind, parentKey) => lists.has(`${kind.kind}\n${parentKey ?? ''}`),
    renamed: (kind, key) => newKeys.get(kind, key),
  }
}

/** By kind and key. */
class Table<T> {
  readonly #kinds = new Map<string, Map<string, T>>()

  set(kind: string, key: string, value: T): void {
    const known = this.#kinds.get(kind)
    if (known === undefined) this.#kinds.set(kind, new Map([[key, value]]))
    else known.set(key, value)
  }

  get(kind: string, key: string): T | undefined {
    return this.#kinds.get(kind)?.get(key)
  }

  has(kind: string, key: string): boolean {
    return this.#kinds.get(kind)?.has(key) === true
  }

  keys(kind: string): readonly string[] {
    return [...(this.#kinds.get(kind)?.keys() ?? [])]
  }
}
