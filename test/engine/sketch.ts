/** A realm as a list of documents, before it is a file; and the file that it makes. */

import fc from 'fast-check'
import { stringify } from 'yaml'
import { escapeText } from '#cli/load/variables/template.ts'
import { placeKey } from '#cli/planning/names.ts'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf, type Shape } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { sectionKinds, sectionOf } from '#schemas/realm/realm-document.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { childrenOf, kindNamed, kinds } from '#schemas/registry.ts'
import { type Item, itemOf } from './values.ts'

export interface Sketch {
  readonly items: readonly Item[]
  /** Those that stand in the file. */
  readonly sections: readonly string[]
}

const sizes: Readonly<Record<Shape, { readonly minLength: number; readonly maxLength: number }>> = {
  singleton: { minLength: 0, maxLength: 1 },
  collection: { minLength: 0, maxLength: 4 },
  upsert: { minLength: 0, maxLength: 4 },
  // Many of these stand below nothing.
  child: { minLength: 3, maxLength: 6 },
  tree: { minLength: 2, maxLength: 6 },
}

/** Anything of every kind; what does not fit together is taken out later. */
export const sketches: fc.Arbitrary<Sketch> = fc
  .record({
    lists: fc.tuple(
      ...kinds.map((kind) =>
        fc.uniqueArray(itemOf(kind), { ...sizes[kind.shape], selector: ({ key }) => key }),
      ),
    ),
    sections: fc.tuple(...sectionKinds.map(() => fc.nat(23))),
  })
  .map(({ lists, sections }) => ({
    items: lists.flat(),
    sections: sectionKinds.flatMap(({ section }, i) => (sections[i] === 0 ? [] : [section])),
  }))

export const placeOf = ({ kind, key }: Pick<Item, 'kind' | 'key'>): string => placeKey(kind, key)

export const placesOf = (items: readonly Pick<Item, 'kind' | 'key'>[]): Set<string> =>
  new Set(items.map(placeOf))

export const parentOf = ({ kind, key }: Pick<Item, 'kind' | 'key'>): string | null => {
  const { parentKind } = kindNamed(kind)
  const above = parentKeyOf(kindNamed(kind), key)
  return above === null ? null : placeKey(parentKind ?? '', above)
}

/** Without the sections that are left out, and what would have no parent. */
export const standing = ({ items, sections }: Sketch): Sketch => {
  let left = items.filter(({ kind }) => sections.includes(sectionOf(kindNamed(kind))))
  for (;;) {
    const places = placesOf(left)
    const kept = left.filter((item) => {
      const parent = parentOf(item)
      return parent === null || places.has(parent)
    })
    if (kept.length === left.length) return { items: kept, sections }
    left = kept
  }
}

const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [change(name), mapTexts(inner, change)]),
  )
}

const withSecrets = (doc: Doc, secrets: Item['secrets']): Doc => {
  const full = structuredClone(doc) as Record<string, unknown>
  for (const [pointer, name] of Object.entries(secrets)) {
    const [field = '', inner] = pointer.slice(1).split('/')
    const text = `\${env:${name}}`
    if (inner === undefined) full[field] = text
    else full[field] = { ...(isObject(full[field]) ? full[field] : {}), [inner]: text }
  }
  return full
}

const spelledFrom = ({ kind: name }: Item, from: string): string =>
  kindNamed(name).shape === 'child' ? from.slice(from.lastIndexOf('/') + 1) : from

/** The realm in the shape of a file, its texts as they are meant or as a file must write them. */
export const realmOf = (
  realm: string,
  { items, sections }: Sketch,
  change: (text: string) => string = (text) => text,
): Doc => {
  const families = Map.groupBy(
    items,
    ({ kind, key }) => `${kind}\n${parentKeyOf(kindNamed(kind), key) ?? ''}`,
  )
  const entriesOf = (kind: Kind, parentKey: string): Doc[] =>
    (families.get(`${kind.kind}\n${parentKey}`) ?? []).map((item) => ({
      ...withSecrets(mapTexts(item.doc, change) as Doc, item.secrets),
      ...(item.from === undefined ? {} : { renamedFrom: spelledFrom(item, item.from) }),
      ...(item.protected ? { protected: true } : {}),
      ...Object.fromEntries(
        childrenOf(kind).flatMap((child) => {
          const below = entriesOf(child, item.key)
          return below.length > 0 || item.withLists ? [[child.section, below]] : []
        }),
      ),
    }))
  const value: Record<string, unknown> = { realm }
  for (const kind of sectionKinds.filter(({ section }) => sections.includes(section))) {
    const entries = entriesOf(kind, '')
    if (kind.shape !== 'singleton') value[kind.section] = entries
    else if (entries.length > 0) value[kind.section] = entries[0]
  }
  return value
}

export const fileOf = (realm: string, sketch: Sketch): string =>
  stringify(realmOf(realm, sketch, escapeText), { aliasDuplicateObjects: false })

/** The expected document of an entry: the entry on top of the seed of the document. */
export const bodyOf = ({ kind: name, key, from, doc }: Item): Doc => {
  const kind = kindNamed(name)
  return compact(kind, { ...seedOf(kind, from ?? key)?.doc, ...doc })
}
