/**
 * An overlay on a realm: entries are found by natural key, fields replace, maps merge, other lists replace whole, new
 * entries are added, `remove: true` takes an entry out and null a field.
 */

import type { Kind } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'
import type { Diagnostic } from '../diagnostics.ts'
import { didYouMean } from './nearest.ts'
import { called, ownKey, type RealmParts } from './parts.ts'
import {
  describe,
  isNull,
  type ListNode,
  type MapNode,
  type Node,
  type Pair,
  placeOfKey,
  placeOfNode,
} from './tree.ts'

type Report = (diagnostic: Diagnostic) => void

/** Maps merge all the way down; null takes out what the base says, and stays where the base says nothing. */
const mergeFields = (
  base: MapNode,
  over: MapNode,
  except: ReadonlySet<string>,
): Map<string, Pair> => {
  const pairs = new Map(base.pairs)
  for (const [name, pair] of over.pairs) {
    if (except.has(name)) continue
    const below = pairs.get(name)
    if (below !== undefined && isNull(pair.value)) pairs.delete(name)
    else if (below?.value.type === 'map' && pair.value.type === 'map')
      pairs.set(name, {
        ...pair,
        value: { ...below.value, pairs: mergeFields(below.value, pair.value, new Set()) },
      })
    else pairs.set(name, pair)
  }
  return pairs
}

/** Whether the entry says `remove: true`; undefined where it does not know what it wants, which is reported. */
const isRemoval = (kind: Kind, entry: MapNode, report: Report): boolean | undefined => {
  const pair = entry.pairs.get('remove')
  if (pair === undefined) return false
  const { value } = pair
  if (value.type !== 'scalar' || typeof value.value !== 'boolean') {
    const message = `"remove" is true or false, and this is ${describe(value)}`
    report({ severity: 'error', code: 'overlay-remove', message, place: placeOfNode(value) })
    return undefined
  }
  if (!value.value) return false
  const more = [...entry.pairs].find(
    ([name]) => name !== 'remove' && !kind.keyFields.includes(name),
  )
  if (more === undefined) return true
  report({
    severity: 'error',
    code: 'overlay-remove',
    message: `an entry that is removed says nothing else, and here is "${more[0]}"`,
    place: placeOfKey(more[1]),
    hint: `to take only a field out, write "FIELD: null" and no "remove"`,
  })
  return undefined
}

const mergeEntry = (
  kind: Kind,
  key: string,
  base: MapNode | undefined,
  over: MapNode,
  report: Report,
): MapNode => {
  const children = childrenOf(kind)
  const start = base ?? { ...over, pairs: new Map<string, Pair>() }
  const pairs = mergeFields(start, over, new Set(['remove', ...children.map((c) => c.section)]))
  for (const child of children) {
    const pair = over.pairs.get(child.section)
    if (pair === undefined) continue
    pairs.set(child.section, mergeList(child, key, pairs.get(child.section), pair, report))
  }
  return { ...start, pairs }
}

/** A list of entries, found by key; a value that is no list replaces what was there, and the check tells about it. */
const mergeList = (
  kind: Kind,
  parentKey: string,
  base: Pair | undefined,
  over: Pair,
  report: Report,
): Pair => {
  if (over.value.type !== 'list') return over
  const below: ListNode | undefined = base?.value.type === 'list' ? base.value : undefined
  const items: (Node | undefined)[] = [...(below?.items ?? [])]
  const places = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const own = item?.type === 'map' ? ownKey(kind, item) : null
    if (own !== null) places.set(own, i)
  }
  for (const entry of over.value.items) {
    const own = entry.type === 'map' ? ownKey(kind, entry) : null
    if (entry.type !== 'map' || own === null) {
      items.push(entry)
      continue
    }
    const key = kind.parentKind === null ? own : `${parentKey}/${own}`
    const at = places.get(own)
    const found = at === undefined ? undefined : items[at]
    const removes = isRemoval(kind, entry, report)
    if (removes === undefined) continue
    if (removes) {
      if (at === undefined)
        report({
          severity: 'error',
          code: 'overlay-remove-missing',
          message: `${called(kind, key)} is not there to be removed`,
          place: placeOfNode(entry),
          ...didYouMean(own, places.keys()),
        })
      else items[at] = undefined
      continue
    }
    const merged = mergeEntry(kind, key, found?.type === 'map' ? found : undefined, entry, report)
    if (at === undefined) items.push(merged)
    else items[at] = merged
  }
  const kept = items.filter((item) => item !== undefined)
  return { ...(base ?? over), value: { ...(below ?? over.value), items: kept } }
}

const mergeRealm = (base: MapNode, over: MapNode, report: Report): MapNode => {
  const lists = sectionKinds.filter(({ shape }) => shape !== 'singleton')
  const pairs = mergeFields(base, over, new Set(['realm', ...lists.map(({ section }) => section)]))
  // A section that is null is an error in every file; it does not take the section out.
  for (const [name, pair] of over.pairs) if (isNull(pair.value)) pairs.set(name, pair)
  for (const kind of lists) {
    const pair = over.pairs.get(kind.section)
    if (pair !== undefined)
      pairs.set(kind.section, mergeList(kind, '', pairs.get(kind.section), pair, report))
  }
  return { ...base, pairs }
}

export interface Overlaid {
  readonly realms: readonly RealmParts[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The realms with one overlay on them. A realm that stands only in the overlay is added, with a warning; where single
 * files were named, only their realms are wanted, and it is left out.
 */
export const overlay = (
  realms: readonly RealmParts[],
  over: readonly RealmParts[],
  { addRealms }: { readonly addRealms: boolean },
): Overlaid => {
  const diagnostics: Diagnostic[] = []
  const report: Report = (diagnostic) => diagnostics.push(diagnostic)
  const merged = new Map(realms.map((realm) => [realm.realm, realm]))
  for (const { realm, node, files } of over) {
    const base = merged.get(realm)
    if (base === undefined) {
      const named = node.pairs.get('realm')
      report({
        severity: 'warning',
        code: 'overlay-realm',
        message: addRealms
          ? `the realm "${realm}" stands only in the overlay`
          : `the realm "${realm}" is not in the files that are named; its overlay is left out`,
        ...(named === undefined ? {} : { place: placeOfNode(named.value) }),
        ...didYouMean(realm, merged.keys()),
      })
      if (!addRealms) continue
    }
    const start = base ?? { realm, node: { ...node, pairs: new Map<string, Pair>() }, files: [] }
    const result = mergeRealm(start.node, node, report)
    const named = start.node.pairs.get('realm') ?? node.pairs.get('realm')
    const pairs = new Map([
      ...(named === undefined ? [] : [['realm', named] as const]),
      ...result.pairs,
    ])
    merged.set(realm, {
      realm,
      node: { ...result, pairs },
      files: [...new Set([...start.files, ...files])],
    })
  }
  return { realms: [...merged.values()], diagnostics }
}
