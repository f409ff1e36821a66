/**
 * The order in which what is made and changed is applied. Parents come before children, and a key is taken after it was
 * left; apart from that, what is referred to comes before who refers to it.
 */

import type { Kind } from '#schemas/kind.ts'
import { sectionOf } from '#schemas/realm-document.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { Place } from '#schemas/wire.ts'
import type { Matching } from './match.ts'
import { byPlace, lineage, placeKey } from './names.ts'
import { inOrder } from './order.ts'
import type { Change } from './plan.ts'

type Indexes = ReadonlyMap<string, number>

/** The nearest document above that changes. */
const changeAbove = (indexes: Indexes, kind: Kind, key: string): number | undefined =>
  lineage(kind, key)
    .slice(1)
    .map((place) => indexes.get(place))
    .find((index) => index !== undefined)

/** Sections in which documents stand below others: there a rename changes the keys of what is below. */
const nestedSections = new Set(
  kinds.filter(({ parentKind }) => parentKind !== null).map((kind) => sectionOf(kind)),
)

/** In a nested section, new keys in the order in which the matching found them free: each after the one before. */
const chainOf = (indexes: Indexes, { matches, moved }: Matching): Indexes => {
  const renaming = new Set([...moved.keys()].map(({ kind }) => sectionOf(kind)))
  const last = new Map<string, number>()
  const previous = new Map<string, number>()
  for (const { desired, actual, from } of matches) {
    const section = sectionOf(desired.kind)
    const place = placeKey(desired.kind.kind, desired.key)
    const index = indexes.get(place)
    const isNewKey = actual === null || from !== null
    if (index === undefined || !isNewKey) continue
    if (!renaming.has(section) || !nestedSections.has(section)) continue
    const before = last.get(section)
    if (before !== undefined) previous.set(place, before)
    last.set(section, index)
  }
  return previous
}

/** The keys that renames leave, each with the last rename that its document takes part in. */
const leftKeys = (indexes: Indexes, { matches, moved }: Matching): Indexes => {
  const renames = new Map<string, number>()
  for (const { desired, actual, from } of matches) {
    const index = indexes.get(placeKey(desired.kind.kind, desired.key))
    if (actual && from !== null && index !== undefined)
      renames.set(placeKey(actual.kind.kind, actual.key), index)
  }
  const left = new Map<string, number>()
  for (const { kind, key } of moved.keys()) {
    const rename = lineage(kind, key)
      .map((place) => renames.get(place))
      .find((index) => index !== undefined)
    if (rename !== undefined) left.set(placeKey(kind.kind, key), rename)
  }
  return left
}

export const inApplyOrder = (changes: readonly Change[], matching: Matching): readonly Change[] => {
  const sorted = changes.toSorted(byPlace)
  const indexes = new Map(sorted.map(({ kind, key }, i) => [placeKey(kind, key), i]))
  const chain = chainOf(indexes, matching)
  const left = leftKeys(indexes, matching)
  const isIndex = (index: number | undefined): index is number => index !== undefined
  return inOrder(sorted, ({ kind: name, key, doc }) => {
    const kind = kindNamed(name)
    const place = placeKey(name, key)
    const named = referencesOf(kind, doc ?? {}, key).map((reference) =>
      placeKey(reference.kind, reference.key),
    )
    const isNested = nestedSections.has(sectionOf(kind))
    const taken = isNested ? undefined : left.get(place)
    return {
      must: [changeAbove(indexes, kind, key), chain.get(place), taken].filter(isIndex),
      // What names a key that is left and taken again means the new one: the rename must not reach it any more.
      should: named.map((other) => left.get(other)).filter(isIndex),
      may: named.map((other) => indexes.get(other)).filter(isIndex),
    }
  })
}

/**
 * Changes that name a key which is left and taken again in the same apply, and whose turn comes before it is left: the
 * rename would take them along to the document that has it now, which is not what the files say.
 */
export const caughtByRename = (
  ordered: readonly Change[],
): { readonly change: Change; readonly named: Place }[] => {
  const keys = new Set(ordered.map(({ kind, key }) => placeKey(kind, key)))
  const renames = new Map(
    ordered.flatMap(({ kind, from }, i): [string, number][] =>
      from !== null && keys.has(placeKey(kind, from)) ? [[placeKey(kind, from), i]] : [],
    ),
  )
  if (renames.size === 0) return []
  return ordered.flatMap((change, i) => {
    const named = referencesOf(kindNamed(change.kind), change.doc ?? {}, change.key).find(
      (reference) =>
        lineage(kindNamed(reference.kind), reference.key).some(
          (place) => (renames.get(place) ?? -1) >= i,
        ),
    )
    return named ? [{ change, named }] : []
  })
}
