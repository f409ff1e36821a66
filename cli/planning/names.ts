/** Names and order of documents in plans. */

import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf, kindNamed, kinds } from '#schemas/registry.ts'
import type { Place } from '#schemas/wire/wire.ts'

/** One text for a kind and a key, to look documents up by. */
export const placeKey = (kind: string, key: string): string => `${kind}\n${key}`

/** By name, because a newer server may speak of kinds that are not known here. */
const singletons = new Set(
  kinds.filter(({ shape }) => shape === 'singleton').map(({ kind }) => kind),
)

/** `client "web"`, or `settings` where there is only one; what would not be seen as it is, is escaped. */
export const nameOf = (kind: string, key: string): string =>
  singletons.has(kind) ? kind : `${kind} ${JSON.stringify(key)}`

/** How many are named in a sentence. */
const mostNamed = 10

/** The first of them, and how many more there are. */
export const namesOf = (places: readonly Place[], count = places.length): string => {
  const names = places.slice(0, mostNamed).map(({ kind, key }) => nameOf(kind, key))
  const rest = count - names.length
  return rest > 0 ? `${names.join(', ')} and ${rest} more` : names.join(', ')
}

const reading = sectionKinds.flatMap((kind) => [
  kind,
  ...childrenOf(kind).filter((child) => child !== kind),
])
const rankOfKinds = new Map(reading.map((kind, rank) => [kind.kind, rank]))

/** Kinds in reading order, then keys by code unit: the same on every machine. */
export const byPlace = (a: Place, b: Place): number => {
  const ranks = (rankOfKinds.get(a.kind) ?? 0) - (rankOfKinds.get(b.kind) ?? 0)
  if (ranks !== 0) return ranks
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** How many documents stand above one. */
export const depthOf = (kind: Kind, key: string): number =>
  kind.shape === 'tree' ? key.split('/').length - 2 : kind.parentKind === null ? 0 : 1

/** The place of a document and those above it, from the bottom up. */
export const lineage = (kind: Kind, key: string): string[] => {
  const parentKey = parentKeyOf(kind, key)
  const above = parentKey === null ? [] : lineage(kindNamed(kind.parentKind ?? ''), parentKey)
  return [placeKey(kind.kind, key), ...above]
}
