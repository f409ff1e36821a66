/**
 * A realm as its files would make it, as far as files can tell: what they declare, on top of what every realm is born
 * with. What else the server has is not known here.
 */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { compact, complete } from '#schemas/normalize.ts'
import { type Entry, type FlatRealm, flatten } from '#schemas/realm-document.ts'
import { seedOf, seeds } from '#schemas/seeds.ts'
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
  complete(document: Declared): Doc
  keysOf(kind: string): readonly string[]
  /** Whether the files hold the list in which a document of that kind and parent would stand. */
  lists(kind: Kind, parentKey: string | null): boolean
  /** The new key of a document that the files rename. */
  renamed(kind: string, key: string): string | undefined
}

const place = (kind: string, key: string): string => `${kind}\n${key}`

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

/** `isSound` says of the pointer of an entry whether it fits its schema. */
export const createModel = (realm: Doc, isSound: (pointer: string) => boolean): Model => {
  const { entries, listings }: FlatRealm = flatten(realm)
  const declared = entries.map((entry) => declare(entry, isSound(entry.pointer)))
  const byPlace = new Map<string, Declared>()
  const keys = new Map<string, string[]>()
  const newKeys = new Map<string, string>()
  const lists = new Set(listings.map(({ kind, parentKey }) => place(kind.kind, parentKey ?? '')))
  const completed = new Map<string, Doc>()

  const addKey = (kind: Kind, key: string): void => {
    const known = keys.get(kind.kind)
    if (known === undefined) keys.set(kind.kind, [key])
    else known.push(key)
  }
  for (const document of declared) {
    const { kind, key, entry } = document
    byPlace.set(place(kind.kind, key), document)
    addKey(kind, key)
    if (entry.renamedFrom !== null) newKeys.set(place(kind.kind, entry.renamedFrom), key)
  }
  const born = new Map<string, Doc>()
  for (const { kind, key, doc } of seeds) {
    const at = place(kind.kind, key)
    if (byPlace.has(at) || newKeys.has(at)) continue
    born.set(at, complete(kind, doc))
    addKey(kind, key)
  }

  const completeOf = (document: Declared): Doc => {
    const at = document.pointer
    const known = completed.get(at)
    if (known !== undefined) return known
    const value = complete(document.kind, compact(document.kind, document.doc))
    completed.set(at, value)
    return value
  }
  const find = (kind: string, key: string): Doc | undefined => {
    const document = byPlace.get(place(kind, key))
    if (document === undefined) return born.get(place(kind, key))
    return document.sound ? completeOf(document) : undefined
  }
  return {
    declared,
    settings: (find(Settings.kind, Settings.kind) ?? complete(Settings, {})) as SettingsDoc,
    has: (kind, key) => byPlace.has(place(kind, key)) || born.has(place(kind, key)),
    find,
    complete: completeOf,
    keysOf: (kind) => keys.get(kind) ?? [],
    lists: (kind, parentKey) => lists.has(place(kind.kind, parentKey ?? '')),
    renamed: (kind, key) => newKeys.get(place(kind, key)),
  }
}
