/**
 * The order in which what is made and changed is applied. Parents come before children, and a key is taken after it was
 * left; apart from that, what is referred to comes before who refers to it.
 */

import type { Kind } from '#schemas/kind.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { referencesOf } from '#schemas/walk.ts'
import { byPlace, lineage, placeKey } from '../names.ts'
import type { Change } from '../plan.ts'
import type { Matching } from '../renames/match.ts'
import { inOrder } from './order.ts'

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

/** The keys that renames leave: who takes one comes after who leaves it. */
const leftKeys = (indexes: Indexes, { matches }: Matching): Indexes => {
  const left = new Map<string, number>()
  for (const { desired, actual, from } of matches) {
    const index = indexes.get(placeKey(desired.kind.kind, desired.key))
    if (actual && from !== null && index !== undefined)
      left.set(placeKey(desired.kind.kind, from), index)
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
    const taken = nestedSections.has(sectionOf(kind)) ? chain.get(place) : left.get(place)
    const named = referencesOf(kind, doc ?? {}, key).map((reference) =>
      indexes.get(placeKey(reference.kind, reference.key)),
    )
    return {
      must: [changeAbove(indexes, kind, key), taken].filter(isIndex),
      should: named.filter(isIndex),
    }
  })
}
