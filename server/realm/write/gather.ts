/**
 * The input of `decide` for a list of operations: the settings of the realm, the named documents, their references and,
 * for deletions and renames, all children and all documents that refer to them. Read without a lock: the revision is
 * read first, and the commit checks that it still holds.
 */

import type { Kysely } from 'kysely'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { lookersAt, readBy } from '#schemas/rules/index.ts'
import { type Reference, referencesOf } from '#schemas/walk.ts'
import { documentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import * as reads from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { docOf, type Operation, placeOf } from './operations.ts'
import { hasSecretToHash } from './secrets-to-hash.ts'

export interface Snapshot {
  readonly revision: number
  readonly documents: ReadonlyMap<string, StoredDocument>
  /** Of every document that may go or be renamed: the documents that refer to it. */
  readonly referrers: ReadonlyMap<string, readonly StoredDocument[]>
}

const refersTo = (schema: JsonSchema, kind: string): boolean =>
  schema['x-ref']?.kind === kind ||
  [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])].some(
    (inner) => refersTo(inner, kind),
  )

/** The kinds whose documents may name others of their kind: flows, policies, roles. */
const selfReferring = new Set(kinds.filter(({ spec, kind }) => refersTo(spec, kind)))

class Gathering {
  readonly documents = new Map<string, StoredDocument>()
  readonly referrers = new Map<string, StoredDocument[]>()
  /** Those that are rewritten or go because others do. */
  readonly #along = new Set<StoredDocument>()
  readonly #asked = new Map<string, Set<string>>()
  readonly #whole = new Set<string>()
  readonly #db: Kysely<Tables>
  readonly #realm: string

  constructor(db: Kysely<Tables>, realm: string) {
    this.#db = db
    this.#realm = realm
  }

  add(documents: readonly StoredDocument[]): void {
    for (const document of documents) this.documents.set(document.id, document)
  }

  /** Loads by key what was not asked for before. */
  async load(wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    const loads = [...wanted].map(async ([kind, keys]) => {
      const asked = this.#asked.get(kind) ?? new Set()
      const fresh = this.#whole.has(kind) ? [] : [...keys].filter((key) => !asked.has(key))
      if (fresh.length === 0) return
      for (const key of fresh) asked.add(key)
      this.#asked.set(kind, asked)
      const rows = await reads.rowsByKeys(this.#db, this.#realm, kind, fresh)
      this.add(rows.map(documentOf))
    })
    await Promise.all(loads)
  }

  async loadIds(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) this.add(await reads.byIds(this.#db, this.#realm, ids))
  }

  async loadAll(kind: string): Promise<void> {
    this.#whole.add(kind)
    this.add((await reads.ofKind(this.#db, this.#realm, kind)).map(documentOf))
  }

  /** Where documents refer to others of their kind: all that these lead to, because a circle may close anywhere. */
  async loadChains(kinds: ReadonlySet<string>): Promise<void> {
    const followed = new Set<string>()
    for (let known = -1; known !== this.documents.size; ) {
      known = this.documents.size
      const further: Reference[] = []
      for (const { id, kind, body, key } of this.documents.values()) {
        if (!kinds.has(kind) || followed.has(id)) continue
        followed.add(id)
        for (const reference of referencesOf(kindNamed(kind), body, key))
          if (reference.kind === kind) further.push(reference)
      }
      await this.load(wantedBy(further))
    }
  }

  /** Documents that are rewritten along with others keep their other references, which must be known too. */
  referencesAlong(): Reference[] {
    return [...this.#along].flatMap(({ kind, body, key }) =>
      referencesOf(kindNamed(kind), body, key),
    )
  }

  /** A document whose secret may be hashed by this write is rewritten as well. */
  referencesOfRevealable(): Reference[] {
    return [...this.documents.values()].flatMap(({ kind, body, key, secrets }) =>
      hasSecretToHash({ kind: kindNamed(kind), sealed: secrets }, false)
        ? referencesOf(kindNamed(kind), body, key)
        : [],
    )
  }

  kindsAlong(): Set<Kind> {
    return new Set([...this.#along].map(({ kind }) => kindNamed(kind)))
  }

  /** And so must the documents above them. */
  pathsAlong(): Map<string, Set<string>> {
    const wanted = new Map<string, Set<string>>()
    for (const { kind, key } of this.#along) wantPath(wanted, kindNamed(kind), key)
    return wanted
  }

  /** Everything that moves or goes when these do. */
  async close(start: readonly StoredDocument[]): Promise<void> {
    const seen = new Set<string>()
    let frontier = [...start]
    while (frontier.length > 0) {
      const ids = frontier.map(({ id }) => id)
      for (const id of ids) seen.add(id)
      const below = await reads.childrenOf(this.#db, ids)
      const referring = await reads.referrersOf(this.#db, ids)
      this.add([...below, ...referring])
      for (const document of [...below, ...referring]) this.#along.add(document)
      const targets = new Map(frontier.map((target) => [placeOf(target.kind, target.key), target]))
      const cascading = referring.filter((document) => this.#link(document, targets))
      frontier = [...below, ...cascading].filter(({ id }) => !seen.has(id))
    }
  }

  /** Records the references of the document; returns whether it must be deleted with one of them. */
  #link(document: StoredDocument, targets: ReadonlyMap<string, StoredDocument>): boolean {
    let cascades = false
    const { kind, body, key } = document
    for (const reference of referencesOf(kindNamed(kind), body, key)) {
      const target = targets.get(placeOf(reference.kind, reference.key))
      if (!target) continue
      const known = this.referrers.get(target.id) ?? []
      if (known.at(-1) !== document) known.push(document)
      this.referrers.set(target.id, known)
      cascades ||= reference.onDelete === 'cascade'
    }
    return cascades
  }
}

/** Where a document stands now whose parents, or who itself, are renamed by the list. */
const formerKeys = (operations: readonly Operation[]): ((kind: Kind, key: string) => string) => {
  const renamed = new Map(
    operations.flatMap((operation) =>
      operation.op === 'put' && operation.from !== undefined
        ? [[placeOf(operation.kind.kind, operation.key), operation.from]]
        : [],
    ),
  )
  /** `below`: what is being resolved; a document that would move above itself is refused later. */
  const former = (kind: Kind, key: string, below: readonly string[]): string => {
    const own = renamed.get(placeOf(kind.kind, key)) ?? key
    const above = parentKeyOf(kind, own)
    if (above === null || kind.parentKind === null || below.includes(above)) return own
    const aboveThen = former(kindNamed(kind.parentKind), above, [...below, above])
    return aboveThen + own.slice(above.length)
  }
  return renamed.size === 0 ? (_kind, key) => key : (kind, key) => former(kind, key, [])
}

const want = (wanted: Map<string, Set<string>>, kind: string, key: string): void => {
  wanted.set(kind, (wanted.get(kind) ?? new Set()).add(key))
}

/** The key and, of nested kinds, the keys above it. */
const wantPath = (wanted: Map<string, Set<string>>, kind: Kind, key: string): void => {
  want(wanted, kind.kind, key)
  const above = parentKeyOf(kind, key)
  if (above !== null && kind.parentKind !== null)
    wantPath(wanted, kindNamed(kind.parentKind), above)
}

/** What the operations are about, and the settings. */
const targetsOf = (
  operations: readonly Operation[],
  former: ReturnType<typeof formerKeys>,
): Map<string, Set<string>> => {
  const wanted = new Map<string, Set<string>>([[Settings.kind, new Set([Settings.kind])]])
  for (const operation of operations) {
    const { kind, key } = operation
    wantPath(wanted, kind, key)
    wantPath(wanted, kind, former(kind, key))
    if (operation.op === 'put' && operation.from !== undefined)
      wantPath(wanted, kind, operation.from)
  }
  return wanted
}

const wantedBy = (references: readonly Reference[]): Map<string, Set<string>> => {
  const wanted = new Map<string, Set<string>>()
  for (const { kind, key } of references) wantPath(wanted, kindNamed(kind), key)
  return wanted
}

/** Whether permissions are at stake, so that all roles must be known. */
const mayGrant = ({ kind }: Operation, references: readonly Reference[]): boolean =>
  kind.shape === 'tree' ||
  kind.spec.properties?.['permissions'] !== undefined ||
  references.some(({ grants }) => grants)

/** Pairs every operation with the document it is about, if there is one. */
const pairUp = (
  { documents }: Gathering,
  operations: readonly Operation[],
  former: ReturnType<typeof formerKeys>,
): { operation: Operation; target: StoredDocument | undefined }[] => {
  const byPlace = new Map(
    [...documents.values()].map((document) => [placeOf(document.kind, document.key), document]),
  )
  return operations.map((operation) => {
    const { kind, key, id } = operation
    const from = (operation.op === 'put' ? operation.from : undefined) ?? key
    const target =
      id === undefined
        ? (byPlace.get(placeOf(kind.kind, former(kind, key))) ??
          byPlace.get(placeOf(kind.kind, from)))
        : documents.get(id)
    return { operation, target }
  })
}

export const gather = async (
  db: Kysely<Tables>,
  realm: string,
  operations: readonly Operation[],
): Promise<Snapshot | undefined> => {
  const row = await reads.realmRow(db, realm)
  if (!row) return undefined
  const gathering = new Gathering(db, realm)
  const former = formerKeys(operations)
  await gathering.load(targetsOf(operations, former))
  await gathering.loadIds(operations.flatMap(({ id }) => id ?? []))
  const pairs = pairUp(gathering, operations, former)

  const references: Reference[] = []
  const present = new Map<string, Set<string>>()
  let grants = false
  for (const { operation, target } of pairs) {
    if (target) wantPath(present, operation.kind, target.key)
    const earlier = target
      ? referencesOf(operation.kind, target.body, target.key).filter(
          (reference) => reference.grants,
        )
      : []
    const own =
      operation.op === 'put'
        ? referencesOf(operation.kind, docOf(operation, target?.body), operation.key)
        : []
    references.push(...earlier, ...own)
    grants ||= mayGrant(operation, [...earlier, ...own])
  }
  await gathering.load(present)
  await gathering.load(wantedBy(references))
  if (grants) await gathering.loadAll(Role.kind)
  const touched = new Set(operations.map(({ kind }) => kind))
  const whole = [...touched].flatMap((kind) => [...lookersAt(kind), ...readBy(kind)])
  for (const { kind } of new Set(whole)) await gathering.loadAll(kind)
  await gathering.loadChains(
    new Set(operations.flatMap(({ kind }) => (selfReferring.has(kind) ? [kind.kind] : []))),
  )
  await gathering.close(
    pairs.flatMap(({ operation, target }) =>
      target && (operation.op === 'delete' || target.key !== operation.key) ? [target] : [],
    ),
  )
  await gathering.load(wantedBy(gathering.referencesAlong()))
  await gathering.load(gathering.pathsAlong())
  // Their rules run again too: settings that follow a renamed role are checked with the sub-flows of their flows.
  for (const kind of gathering.kindsAlong())
    for (const read of readBy(kind)) await gathering.loadAll(read.kind)
  await gathering.load(wantedBy(gathering.referencesOfRevealable()))
  const { documents, referrers } = gathering
  return { revision: row.revision, documents, referrers }
}

/** Of a realm that is about to be made. */
export const emptySnapshot: Snapshot = { revision: 0, documents: new Map(), referrers: new Map() }
