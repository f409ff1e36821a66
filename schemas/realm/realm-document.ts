/**
 * A realm as one value: the shape of a realm's YAML, of an export and of an import. Sections hold lists of entries,
 * children nest in their parents, trees in themselves. Flattened, it is a list of documents with natural keys.
 */

import { type Doc, isObject, type JsonSchema, pointerSegment } from '../json-schema.ts'
import { type Kind, keyBelow, keyOf, parentKeyOf } from '../kind.ts'
import { childrenOf, kindNamed, kinds } from '../registry.ts'

/** One document as it is written down. */
export interface Entry {
  readonly kind: Kind
  readonly key: string
  /** Its own fields as they stand there: without children, `renamedFrom` and `protected`. */
  readonly value: Doc
  /** JSON pointer into the realm value. */
  readonly pointer: string
  /** The key it had before, above the same parent as now; null where it is not renamed. */
  readonly renamedFrom: string | null
  readonly protected: boolean
}

/** A list that is there, empty or not: of a whole section, or of the children of one document. */
export interface Listing {
  readonly kind: Kind
  /** Null of a section. */
  readonly parentKey: string | null
  readonly pointer: string
}

export interface FlatRealm {
  readonly entries: readonly Entry[]
  readonly listings: readonly Listing[]
}

const sectionsOfKinds = new Map<Kind, string>()

/** The top-level section under which documents of a kind stand. */
export const sectionOf = (kind: Kind): string => {
  const known = sectionsOfKinds.get(kind)
  if (known !== undefined) return known
  const parent = kinds.find((other) => other.kind === kind.parentKind)
  const found = parent === undefined || parent === kind ? kind.section : sectionOf(parent)
  sectionsOfKinds.set(kind, found)
  return found
}

/** Excludes children of documents of another section: roles of clients belong to the clients. */
const sectionsNamedBy = (schema: JsonSchema): string[] => {
  const mark = schema['x-ref']
  const named = mark && kindNamed(mark.kind)
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  return [
    ...(named && (named.parentKind === null || named.shape === 'tree') ? [sectionOf(named)] : []),
    ...inner.flatMap(sectionsNamedBy),
  ]
}

const inReadingOrder = (list: readonly Kind[]): Kind[] => {
  const needs = new Map(
    list.map(({ section }) => [
      section,
      new Set(
        kinds
          .filter((kind) => sectionOf(kind) === section)
          .flatMap(({ spec }) => sectionsNamedBy(spec))
          .filter((needed) => needed !== section),
      ),
    ]),
  )
  const sizeOf = ({ spec }: Kind): number => Object.keys(spec.properties ?? {}).length
  const ordered: Kind[] = list
    .filter(({ shape }) => shape === 'singleton')
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  let rest = list.filter(({ shape }) => shape !== 'singleton')
  while (rest.length > 0) {
    const waiting = new Set(rest.map(({ section }) => section))
    const free = rest.find(({ section }) =>
      [...(needs.get(section) ?? [])].every((needed) => !waiting.has(needed)),
    )
    const next = free ?? rest[0]
    if (!next) break
    ordered.push(next)
    rest = rest.filter((kind) => kind !== next)
  }
  return ordered
}

/**
 * The kinds that have a section of their own, in the order in which a file is read best: what there is one of comes
 * first, the largest before the others, then everything after what it refers to.
 */
export const sectionKinds: readonly Kind[] = inReadingOrder(
  kinds.filter((kind) => kind.parentKind === null || kind.shape === 'tree'),
)

/** The old key: of a tree a whole path, or a name; a name stands above the same parent. */
const formerKey = (kind: Kind, from: unknown, parentKey: string | null): string | null => {
  if (typeof from !== 'string') return null
  if (kind.parentKind === null || (kind.shape === 'tree' && from.startsWith('/'))) return from
  return keyBelow(kind, parentKey, from)
}

/**
 * The documents of a realm value, parents before their children. It takes what the schema of a realm file accepts;
 * what has another shape is passed over, because the check of the file tells about it.
 */
export const flatten = (realm: Doc): FlatRealm => {
  const entries: Entry[] = []
  const listings: Listing[] = []

  const addEntry = (
    kind: Kind,
    written: unknown,
    pointer: string,
    parentKey: string | null,
  ): void => {
    if (!isObject(written)) return
    const nested = childrenOf(kind)
    const {
      renamedFrom,
      protected: isProtected,
      ...rest
    } = kind.shape === 'singleton' ? { ...written, renamedFrom: null, protected: false } : written
    const value: Record<string, unknown> = rest
    for (const child of nested) delete value[child.section]
    const key = keyOf(kind, value, parentKey ?? undefined)
    entries.push({
      kind,
      key,
      value,
      pointer,
      renamedFrom: formerKey(kind, renamedFrom, parentKey),
      protected: isProtected === true,
    })
    for (const child of nested)
      addList(child, written[child.section], `${pointer}/${pointerSegment(child.section)}`, key)
  }

  const addList = (
    kind: Kind,
    written: unknown,
    pointer: string,
    parentKey: string | null,
  ): void => {
    if (kind.shape === 'singleton') addEntry(kind, written, pointer, null)
    if (kind.shape === 'singleton' || !Array.isArray(written)) return
    listings.push({ kind, parentKey, pointer })
    for (const [i, item] of written.entries()) addEntry(kind, item, `${pointer}/${i}`, parentKey)
  }

  for (const kind of sectionKinds)
    addList(kind, realm[kind.section], `/${pointerSegment(kind.section)}`, null)
  return { entries, listings }
}

/** A document to be written down. */
export interface Written {
  readonly kind: Kind
  readonly key: string
  readonly value: Doc
}

const byKey = (a: Written, b: Written): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

/** The sections that these documents make, each sorted by key. */
export const nest = (documents: readonly Written[]): Record<string, unknown> => {
  const families = Map.groupBy(
    documents.toSorted(byKey),
    ({ kind, key }) => `${kind.kind}\n${parentKeyOf(kind, key) ?? ''}`,
  )
  const entriesOf = (kind: Kind, parentKey: string): Record<string, unknown>[] =>
    (families.get(`${kind.kind}\n${parentKey}`) ?? []).map(({ key, value }) => {
      const entry: Record<string, unknown> = { ...value }
      for (const child of childrenOf(kind)) {
        const below = entriesOf(child, key)
        if (below.length > 0) entry[child.section] = below
      }
      return entry
    })
  const realm: Record<string, unknown> = {}
  for (const kind of sectionKinds) {
    const entries = entriesOf(kind, '')
    if (entries.length > 0) realm[kind.section] = kind.shape === 'singleton' ? entries[0] : entries
  }
  return realm
}

/** `<field>Set: true` beside every secret that is stored, where the field itself would stand. */
export const withSecretFlags = (kind: Kind, doc: Doc, stored: ReadonlySet<string>): Doc => {
  const add = (schema: JsonSchema, value: Doc, pointer: string): Doc => {
    const shown: Record<string, unknown> = { ...value }
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const place = `${pointer}/${pointerSegment(name)}`
      if (inner['x-secret']) {
        if (stored.has(place)) shown[`${name}Set`] = true
      } else if (inner.properties && [...stored].some((secret) => secret.startsWith(`${place}/`)))
        shown[name] = add(inner, isObject(value[name]) ? value[name] : {}, place)
    }
    return shown
  }
  return stored.size === 0 ? doc : add(kind.spec, doc, '')
}

/** Takes the flags out again and says which secrets they named. */
export const withoutSecretFlags = (
  kind: Kind,
  doc: Doc,
): { readonly doc: Doc; readonly stored: readonly string[] } => {
  const stored: string[] = []
  const strip = (schema: JsonSchema, value: Doc, pointer: string): Doc => {
    const kept: Record<string, unknown> = { ...value }
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const place = `${pointer}/${pointerSegment(name)}`
      if (inner['x-secret']) {
        if (kept[`${name}Set`] === true) stored.push(place)
        delete kept[`${name}Set`]
      } else if (inner.properties && isObject(kept[name]))
        kept[name] = strip(inner, kept[name], place)
    }
    return kept
  }
  return { doc: strip(kind.spec, doc, ''), stored }
}
