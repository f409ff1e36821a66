/** Two realms of which the second is what the first becomes: some documents stay, change, get another name, or go. */

import { isDeepStrictEqual } from 'node:util'
import { placeKey } from '#cli/planning/names.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { childrenOf, kindNamed } from '#schemas/registry.ts'
import { type Has, mended } from './mended.ts'
import { parentOf, placeOf, placesOf, type Sketch, standing } from './sketch.ts'
import { tuned } from './tuned.ts'
import { changeableSeeds, type Item } from './values.ts'

export interface Pair {
  readonly a: Sketch
  readonly b: Sketch
}

const born = changeableSeeds.map(({ kind, key, doc }) => ({ kind: kind.kind, key, doc }))
const isBorn: Has = (kind, key) => born.some((seed) => seed.kind === kind && seed.key === key)

/** The user who answers for things: a file names them by an id that only the server knows. */
export const somebody = '00000000-0000-7000-8000-000000000000'

/** With the id of an existing user, or with none. */
export const answeredForBy = ({ items, sections }: Sketch, userId: string | null): Sketch => ({
  sections,
  items: items.map((item) => ({
    ...item,
    doc: Object.fromEntries(
      Object.entries(item.doc).flatMap(([name, value]) =>
        value !== somebody ? [[name, value]] : userId === null ? [] : [[name, userId]],
      ),
    ),
  })),
})

type Old = Pick<Item, 'kind' | 'key' | 'doc'>

/** What cannot be changed once it is set is as it was. */
const withImmutable = (item: Item, old: Old | undefined): Item => {
  const kind = kindNamed(item.kind)
  const fixed = Object.entries(kind.spec.properties ?? {}).filter(
    ([, schema]) => schema['x-immutable'],
  )
  if (!old || fixed.every(([name]) => isDeepStrictEqual(item.doc[name], old.doc[name]))) return item
  const doc = {
    ...item.doc,
    ...Object.fromEntries(fixed.map(([name]) => [name, old.doc[name]])),
  }
  return { ...item, ...tuned(kind, doc, item.secrets) }
}

const depthOf = ({ kind, key }: Item): number =>
  kindNamed(kind).parentKind === null ? 0 : key.split('/').length

/**
 * Makes new documents of old ones of the same list. An old one that a document of the files has the name of is that one, unless
 * that is made of another old one in turn: a chain.
 */
const renamed = (items: readonly Item[], olds: readonly Old[]): Item[] => {
  const byPlace = new Map(items.map((item) => [placeOf(item), item]))
  const taken = new Set<string>()
  const former = new Map<string, string>()
  const oldPlaces = placesOf(olds)
  const done = new Map<string, Item>()
  /** The key of the document above, as it was. */
  const formerParent = (item: Item): string | null => {
    const above = parentOf(item)
    return above === null ? null : (former.get(above) ?? above.split('\n')[1] ?? '')
  }
  const isOld = (item: Item): boolean => {
    const parent = formerParent(item)
    const key = parent === null ? item.key : parent + item.key.slice(item.key.lastIndexOf('/'))
    return oldPlaces.has(placeOf({ ...item, key }))
  }
  const candidatesOf = (item: Item): Old[] => {
    const kind = kindNamed(item.kind)
    const parent = formerParent(item)
    return olds.filter((old) => {
      if (old.kind !== item.kind || taken.has(placeOf(old)) || old.key === item.key) return false
      if (kind.shape === 'tree')
        return !`${item.key}/`.startsWith(`${old.key}/`) && !byPlace.has(placeOf(old))
      return parentKeyOf(kind, old.key) === parent
    })
  }
  /** Whether the old one is free, or becomes so because the document with its name is made of another one. */
  const isFree = (old: Old, chain: ReadonlySet<string>): boolean => {
    const place = placeOf(old)
    const holder = byPlace.get(place)
    if (!holder) return true
    if (done.get(place)?.from !== undefined) return true
    return !done.has(place) && !chain.has(place) && make(holder, new Set([...chain, place]))
  }
  /** Whether it is made of an old one now. */
  const make = (item: Item, chain: ReadonlySet<string>): boolean => {
    const candidates = candidatesOf(item)
    const at = item.rename % Math.max(candidates.length, 1)
    const old = candidates.slice(at, at + 1).find((one) => isFree(one, chain))
    if (!old) return false
    taken.add(placeOf(old))
    former.set(placeOf(item), old.key)
    // A child's old name is meant below the parent's new one.
    const parent = parentKeyOf(kindNamed(item.kind), item.key)
    const isChild = kindNamed(item.kind).shape === 'child'
    const from = isChild ? `${parent}${old.key.slice(old.key.lastIndexOf('/'))}` : old.key
    done.set(placeOf(item), withImmutable({ ...item, from }, old))
    return true
  }
  // Parents first: a child's old name is looked for below what they were.
  for (const item of items.toSorted((a, b) => depthOf(a) - depthOf(b))) {
    const place = placeOf(item)
    if (done.has(place)) continue
    if (item.rename < 2 || isOld(item) || !make(item, new Set([place]))) done.set(place, item)
  }
  return [...done.values()]
}

/** The lists that stand in the file: sections, and those of children. */
export const listsOf = ({ items, sections }: Sketch): ReadonlySet<string> => {
  const filled = new Set(items.map((item) => `${item.kind}\n${parentOf(item)}`))
  const below = (item: Item): string[] =>
    childrenOf(kindNamed(item.kind))
      .filter(({ kind }) => item.withLists || filled.has(`${kind}\n${placeOf(item)}`))
      .map(({ kind }) => placeKey(kind, item.key))
  return new Set([...sections.map((section) => `section ${section}`), ...items.flatMap(below)])
}

/** Whether the list is there in which a document would stand. */
export const isListed = (
  lists: ReadonlySet<string>,
  { kind: name, key }: Pick<Item, 'kind' | 'key'>,
): boolean => {
  const kind = kindNamed(name)
  const above = parentKeyOf(kind, key)
  return lists.has(above === null ? `section ${kind.section}` : placeKey(name, above))
}

/** Documents of the first realm that the second one says nothing about, wherever it could. */
const untouched = (a: Sketch, b: Sketch): Item[] => {
  const lists = listsOf(b)
  const named = placesOf(b.items)
  const sources = new Set(b.items.flatMap(({ kind, from }) => (from ? [placeKey(kind, from)] : [])))
  let left = a.items.filter(
    (item) => !named.has(placeOf(item)) && !sources.has(placeOf(item)) && !isListed(lists, item),
  )
  for (;;) {
    const places = new Set([...placesOf(left), ...named])
    const kept = left.filter((item) => {
      const parent = parentOf(item)
      return parent === null || places.has(parent)
    })
    if (kept.length === left.length) return kept
    left = kept
  }
}

/** Most of what is protected stays: else nearly every pair would be refused for it. */
const loosened = (a: Sketch, b: Sketch): Pair => {
  const kept = new Set([
    ...placesOf(untouched(a, b)),
    ...placesOf(b.items),
    ...b.items.flatMap(({ kind, from }) => (from ? [placeKey(kind, from)] : [])),
  ])
  const olds = placesOf(a.items)
  const loosen = (item: Item, isKept: boolean): Item =>
    item.protected && !isKept && item.rename !== 5 ? { ...item, protected: false } : item
  return {
    a: { ...a, items: a.items.map((item) => loosen(item, kept.has(placeOf(item)))) },
    b: { ...b, items: b.items.map((item) => loosen(item, olds.has(placeOf(item)))) },
  }
}

export const pairOf = (first: Sketch, second: Sketch): Pair => {
  const a = mended(first, isBorn)
  const places = placesOf(a.items)
  const olds: Old[] = [...born.filter((seed) => !places.has(placeOf(seed))), ...a.items]
  const known = new Map(olds.map((old) => [placeOf(old), old]))
  const roughly = standing(second)
  const items = renamed(
    roughly.items.map((item) => withImmutable(item, known.get(placeOf(item)))),
    olds,
  )
  let b: Sketch = { ...roughly, items }
  // What is taken out may be what something else relied on.
  for (;;) {
    const sources = new Set(
      b.items.flatMap(({ kind, from }) => (from ? [placeKey(kind, from)] : [])),
    )
    const stays = placesOf(untouched(a, b))
    const has: Has = (kind, key) =>
      stays.has(placeKey(kind, key)) || (isBorn(kind, key) && !sources.has(placeKey(kind, key)))
    const next = mended(b, has)
    if (JSON.stringify(next.items) === JSON.stringify(b.items)) return loosened(a, next)
    b = next
  }
}
