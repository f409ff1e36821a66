/**
 * A realm's configuration in ONE canonical shape: the sections and keys of a realm file, and in `meta` what is known
 * about each document. It is streamed: a large realm is neither in memory twice nor blocks other requests.
 */

import { setImmediate as breathe } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { contentHash } from '#schemas/normalize.ts'
import { nest, sectionKinds, sectionOf, withSecretFlags } from '#schemas/realm/realm-document.ts'
import { sectionHash } from '#schemas/realm/section-hash.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import {
  type DocumentMeta,
  formatVersion,
  type LastChange,
  type UnmanagedUserMeta,
} from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { deletionsUpTo, lastChanges } from '../history/history.ts'
import {
  type ConfigDocument,
  type Configuration,
  configurationAt,
  readConfiguration,
} from '../read/configuration.ts'
import { type Owners, ownersOfGroups } from '../read/senders.ts'
import { mayRead } from '../rules/access.ts'
import { appliedKeys } from './hand-renames.ts'
import { unmanagedUsers } from './unmanaged-users.ts'

export interface ExportOptions {
  /** Also unchanged built-in documents without an owner. */
  readonly builtIns: boolean
  readonly users: 'managed' | 'all'
  /** Also documents that are made while the realm runs: a file may be about to name one. */
  readonly runtime: boolean
  readonly ids: boolean
  /** Null: all. */
  readonly sections: readonly string[] | null
  readonly history: boolean
  /** The realm as it was then; null: as it is. */
  readonly revision: number | null
}

export interface Export {
  readonly revision: number
  /** The text of a RealmExport. */
  readonly text: AsyncIterable<string>
}

/** How many documents are written out at a time: a few milliseconds. */
const slice = 200

/** What the caller may read of what is asked for, and the names of what is left out. */
const visibleTo = (caller: Caller, sections: readonly string[] | null) => {
  const wanted = kinds.filter((kind) => sections === null || sections.includes(sectionOf(kind)))
  const omitted = wanted.filter((kind) => !mayRead(caller, kind))
  const missing = new Set(omitted)
  return {
    readable: wanted.filter((kind) => !missing.has(kind)),
    omittedSections: omitted
      // A missing permission for the parents is reported by their section.
      .filter(
        ({ parentKind, kind }) =>
          parentKind === null || parentKind === kind || !missing.has(kindNamed(parentKind)),
      )
      .map((kind) =>
        sectionKinds.includes(kind) ? kind.section : `${sectionOf(kind)}/${kind.section}`,
      ),
  }
}

/** Whether a document says more than that the realm was born with it. */
const isOwn = (kind: Kind, document: ConfigDocument): boolean => {
  if (document.origin !== 'built-in' || document.owner !== null || document.protected) return true
  const seed = seedOf(kind, document.key)
  return (
    seed === undefined ||
    Object.keys(document.secrets).length > 0 ||
    contentHash(seed.doc) !== document.hash
  )
}

/** Those to be shown; with a document everything above it. */
const chosen = (
  { documents }: Configuration,
  { builtIns }: ExportOptions,
): ReadonlyMap<string, ConfigDocument> => {
  if (builtIns) return documents
  const shown = new Map<string, ConfigDocument>()
  for (const document of documents.values()) {
    if (!isOwn(kindNamed(document.kind), document)) continue
    let next: ConfigDocument | undefined = document
    while (next && !shown.has(next.id)) {
      shown.set(next.id, next)
      next = next.parentId === null ? undefined : documents.get(next.parentId)
    }
  }
  return shown
}

/**
 * As in a file. A built-in value that was removed must be written out: an entry that omits it means the built-in value.
 */
const entryOf = (
  kind: Kind,
  { key, body, secrets, protected: isProtected }: ConfigDocument,
): Doc => {
  const given = Object.keys(seedOf(kind, key)?.doc ?? {}).filter((name) => !(name in body))
  const unset = given.map((name) => [name, kind.spec.properties?.[name]?.default ?? null])
  const value = { ...body, ...Object.fromEntries(unset), ...(isProtected && { protected: true }) }
  return withSecretFlags(kind, value, new Set(Object.keys(secrets)))
}

/** Documents with all that is below them, by the one at the top. */
const familiesOf = (
  shown: ReadonlyMap<string, ConfigDocument>,
): ReadonlyMap<string, readonly ConfigDocument[]> => {
  const topOf = (document: ConfigDocument): ConfigDocument => {
    const parent = document.parentId === null ? undefined : shown.get(document.parentId)
    return parent ? topOf(parent) : document
  }
  return Map.groupBy(shown.values(), (document) => topOf(document).id)
}

const byKey = (a: ConfigDocument, b: ConfigDocument): number => (a.key < b.key ? -1 : 1)

const sectionText = async function* (
  kind: Kind,
  tops: readonly ConfigDocument[],
  families: ReadonlyMap<string, readonly ConfigDocument[]>,
  more: AsyncIterable<readonly Doc[]> | undefined,
): AsyncGenerator<string> {
  const entriesOf = (some: readonly ConfigDocument[]): unknown => {
    const written = some.flatMap(({ id }) => families.get(id) ?? [])
    return nest(
      written.map((document) => {
        const own = kindNamed(document.kind)
        return { kind: own, key: document.key, value: entryOf(own, document) }
      }),
    )[kind.section]
  }
  if (kind.shape === 'singleton') {
    yield JSON.stringify(entriesOf(tops))
    return
  }
  yield '['
  let any = false
  const listed = (entries: readonly unknown[]): string => {
    if (entries.length === 0) return ''
    const text = JSON.stringify(entries).slice(1, -1)
    const separator = any ? ',' : ''
    any = true
    return separator + text
  }
  for (let start = 0; start < tops.length; start += slice) {
    yield listed(entriesOf(tops.slice(start, start + slice)) as unknown[])
    await breathe()
  }
  if (more) for await (const entries of more) yield listed(entries)
  yield ']'
}

const recordText = async function* <T>(
  entries: Iterable<readonly [string, T]>,
): AsyncGenerator<string> {
  yield '{'
  let count = 0
  let text = ''
  for (const [name, value] of entries) {
    text += `${count === 0 ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`
    count += 1
    if (count % slice !== 0) continue
    yield text
    text = ''
    await breathe()
  }
  yield `${text}}`
}

const nestedText = async function* <T>(
  records: Iterable<readonly [string, Iterable<readonly [string, T]>]>,
): AsyncGenerator<string> {
  let opening = '{'
  for (const [name, entries] of records) {
    yield `${opening}${JSON.stringify(name)}:`
    yield* recordText(entries)
    opening = ','
  }
  yield opening === '{' ? '{}' : '}'
}

type ByKind = ReadonlyMap<string, readonly ConfigDocument[]>

/** What is told of documents beside their values, each by the id of its document. */
interface Told {
  readonly changes: ReadonlyMap<string, LastChange>
  readonly applied: ReadonlyMap<string, string>
  readonly provisioned: Owners
}

const metaOf = (
  document: ConfigDocument,
  { changes, applied, provisioned }: Told,
  { ids, history }: Pick<ExportOptions, 'ids' | 'history'>,
): DocumentMeta => {
  const lastChange = changes.get(document.id)
  const appliedKey = applied.get(document.id)
  return {
    ...(ids ? { id: document.id } : {}),
    hash: document.hash,
    origin: document.origin,
    owner: document.owner ?? provisioned.get(document.id) ?? null,
    protected: document.protected,
    updatedAt: document.updatedAt || (lastChange?.at ?? 0),
    ...(appliedKey === undefined ? {} : { appliedKey }),
    ...(history && lastChange ? { lastChange } : {}),
  }
}

const documentsText = (
  byKind: ByKind,
  meta: (document: ConfigDocument) => DocumentMeta,
): AsyncGenerator<string> => {
  const lazily = function* (documents: readonly ConfigDocument[]) {
    for (const document of documents) yield [document.key, meta(document)] as const
  }
  return nestedText([...byKind].map(([kind, documents]) => [kind, lazily(documents)]))
}

const sectionHashes = async (byKind: ByKind): Promise<Record<string, string>> => {
  const sections = Map.groupBy(byKind, ([kind]) => sectionOf(kindNamed(kind)))
  const hashes: Record<string, string> = {}
  for (const [section, lists] of sections) {
    hashes[section] = sectionHash(lists.flatMap(([, documents]) => documents))
    await breathe()
  }
  return hashes
}

/** In the order of the list of kinds, sorted by key: mostly as they were read, so that there is little to do. */
const kindsOf = async (documents: Iterable<ConfigDocument>): Promise<ByKind> => {
  const found = Map.groupBy(documents, ({ kind }) => kind)
  const byKind = new Map<string, ConfigDocument[]>()
  for (const { kind } of kinds) {
    const list = found.get(kind)
    if (list) byKind.set(kind, list.sort(byKey))
    await breathe()
  }
  return byKind
}

/** What is gone, where nothing of the same name is there again. */
const deletedIn = async (
  db: Kysely<Tables>,
  { realm, revision, documents }: Configuration,
  readable: readonly Kind[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, LastChange>>> => {
  const names = new Set(readable.map(({ kind }) => kind))
  const there = new Set([...documents.values()].map(({ kind, key }) => `${kind}\n${key}`))
  const deleted = new Map<string, Map<string, LastChange>>()
  for (const { kind, key, change } of await deletionsUpTo(db, realm, revision)) {
    if (!names.has(kind) || there.has(`${kind}\n${key}`)) continue
    const ofKind = deleted.get(kind) ?? new Map<string, LastChange>()
    deleted.set(kind, ofKind)
    // The newest comes first.
    if (!ofKind.has(key)) ofKind.set(key, change)
  }
  return deleted
}

/** Undefined where there is no such realm, or no such revision of it. */
export const exportRealm = async (
  db: Kysely<Tables>,
  realm: string,
  caller: Caller,
  options: ExportOptions,
): Promise<Export | undefined> => {
  const { readable, omittedSections } = visibleTo(caller, options.sections)
  const names = readable.map(({ kind }) => kind)
  const present = await readConfiguration(db, realm, names, options.runtime)
  const wanted = options.revision ?? present?.revision ?? 0
  if (!present || wanted > present.revision) return undefined
  const configuration =
    wanted === present.revision ? present : await configurationAt(db, present, wanted, names)
  const shown = chosen(configuration, options)
  const byKind = await kindsOf(shown.values())
  const needed = [...shown.values()].flatMap(({ id, updatedAt }) =>
    options.history || updatedAt === 0 ? [id] : [],
  )
  const changes = await lastChanges(db, realm, needed, wanted)
  const applied = await appliedKeys(db, realm, shown.values(), wanted)
  const provisioned = await ownersOfGroups(
    db,
    [...shown.values()].flatMap(({ id, kind, origin }) =>
      kind === Group.kind && origin === 'runtime' ? [id] : [],
    ),
  )
  const families = familiesOf(shown)
  const everybody = options.users === 'all' && readable.includes(User)

  const text = async function* (): AsyncGenerator<string> {
    const seen = new Map<string, UnmanagedUserMeta>()
    const others = async function* (): AsyncGenerator<readonly Doc[]> {
      for await (const page of unmanagedUsers(db, realm)) {
        for (const { id, doc, owner } of page)
          seen.set(String(doc['username']), {
            ...(options.ids ? { id } : {}),
            ...(owner === undefined ? {} : { owner }),
          })
        yield page.map(({ doc }) => doc)
      }
    }
    yield JSON.stringify({ formatVersion, realm, revision: wanted }).slice(0, -1)
    for (const kind of sectionKinds.filter((one) => readable.includes(one))) {
      const tops = (byKind.get(kind.kind) ?? []).filter(({ id }) => families.has(id))
      const more = everybody && kind === User ? others() : undefined
      if (tops.length === 0 && !more) continue
      yield `,${JSON.stringify(kind.section)}:`
      yield* sectionText(kind, tops, families, more)
    }
    yield `,"meta":{"sections":${JSON.stringify(await sectionHashes(byKind))},"documents":`
    yield* documentsText(byKind, (document) =>
      metaOf(document, { changes, applied, provisioned }, options),
    )
    yield `,"omittedSections":${JSON.stringify(omittedSections)}`
    if (options.history) {
      yield ',"deleted":'
      yield* nestedText(await deletedIn(db, configuration, readable))
    }
    if (everybody) {
      yield ',"unmanagedUsers":'
      yield* recordText(seen)
    }
    yield '}}'
  }
  return { revision: wanted, text: text() }
}
