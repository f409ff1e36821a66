/**
 * An overlay on a realm: entries are found by natural key, fields replace, maps merge, other lists replace whole, `remove: true`
 * takes an entry out and null a field. An entry that is not found is a slip of its key, unless `add: true` says that it is new.
 */

import { type Kind, keyBelow } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
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
} from './yaml/tree.ts'

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

/** Whether the entry says `add: true`; undefined where it does not know what it wants, which is reported. */
const isAddition = (entry: MapNode, report: Report): boolean | undefined => {
  const pair = entry.pairs.get('add')
  if (pair === undefined) return false
  const { value } = pair
  if (value.type === 'scalar' && typeof value.value === 'boolean') return value.value
  const message = `"add" is true or false, and this is ${describe(value)}`
  report({ severity: 'error', code: 'overlay-add', message, place: placeOfNode(value) })
  return undefined
}

/** How the entries of a list are taken that the layers below do not have. */
type Unfound = 'refused' | 'left-out' | 'added'

interface Merging {
  readonly report: Report
  readonly unfound: Unfound
}

/** Whether the entry becomes part of the realm; what speaks against it is reported. */
const isTaken = (
  kind: Kind,
  { key, own, entry }: { key: string; own: string; entry: MapNode },
  known: ReadonlyMap<string, unknown>,
  { report, unfound }: Merging,
): boolean => {
  const adds = isAddition(entry, report)
  if (adds === undefined) return false
  const isFound = known.has(own)
  if (isFound && adds) {
    report({
      severity: 'error',
      code: 'overlay-add',
      message: `${called(kind, key)} is there already and cannot be added`,
      place: placeOfNode(entry),
      hint: 'leave "add: true" out to change the entry',
    })
    return false
  }
  // What every realm is born with is there, although no file names it.
  if (isFound || adds || unfound === 'added' || seedOf(kind, key) !== undefined) return true
  if (unfound === 'refused')
    report({
      severity: 'error',
      code: 'overlay-unknown',
      message: `${called(kind, key)} is not in the files that the overlay changes`,
      place: placeOfNode(entry),
      hint: didYouMean(own, known.keys()).hint ?? 'write "add: true" in the entry to add it',
    })
  return false
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
    message: `an entry with "remove: true" cannot have other fields, such as "${more[0]}"`,
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
  merging: Merging,
): MapNode => {
  const children = childrenOf(kind)
  const start = base ?? { ...over, pairs: new Map<string, Pair>() }
  const pairs = mergeFields(
    start,
    over,
    new Set(['remove', 'add', ...children.map((c) => c.section)]),
  )
  for (const child of children) {
    const pair = over.pairs.get(child.section)
    if (pair === undefined) continue
    // What is below a new entry is new with it.
    const inner: Merging = base === undefined ? { ...merging, unfound: 'added' } : merging
    pairs.set(child.section, mergeList(child, key, pairs.get(child.section), pair, inner))
  }
  return { ...start, pairs }
}

/** A list of entries, found by key; a value that is no list replaces what was there, and the check tells about it. */
const mergeList = (
  kind: Kind,
  parentKey: string,
  base: Pair | undefined,
  over: Pair,
  merging: Merging,
): Pair => {
  const { report } = merging
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
    const key = kind.parentKind === null ? own : keyBelow(kind, parentKey, own)
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
    if (!isTaken(kind, { key, own, entry }, places, merging)) continue
    const merged = mergeEntry(kind, key, found?.type === 'map' ? found : undefined, entry, merging)
    if (at === undefined) items.push(merged)
    else items[at] = merged
  }
  const kept = items.filter((item) => item !== undefined)
  return { ...(base ?? over), value: { ...(below ?? over.value), items: kept } }
}

const mergeRealm = (base: MapNode, over: MapNode, merging: Merging): MapNode => {
  const lists = sectionKinds.filter(({ shape }) => shape !== 'singleton')
  const pairs = mergeFields(base, over, new Set(['realm', ...lists.map(({ section }) => section)]))
  // A section that is null is an error in every file; it does not take the section out.
  for (const [name, pair] of over.pairs) if (isNull(pair.value)) pairs.set(name, pair)
  for (const kind of lists) {
    const pair = over.pairs.get(kind.section)
    if (pair !== undefined)
      pairs.set(kind.section, mergeList(kind, '', pairs.get(kind.section), pair, merging))
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
  {
    addRealms,
    isPart,
  }: { readonly addRealms: boolean; readonly isPart: (realm: string) => boolean },
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
          ? `the realm "${realm}" exists only in the overlay`
          : `the realm "${realm}" is not in the files that are named; its overlay is left out`,
        ...(named === undefined ? {} : { place: placeOfNode(named.value) }),
        ...didYouMean(realm, merged.keys()),
      })
      if (!addRealms) continue
    }
    const start = base ?? { realm, node: { ...node, pairs: new Map<string, Pair>() }, files: [] }
    // Where files were named, entries may be of those that were not.
    const unfound = base === undefined ? 'added' : isPart(realm) ? 'left-out' : 'refused'
    const result = mergeRealm(start.node, node, { report, unfound })
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
