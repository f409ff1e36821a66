/**
 * Parts of realms -> realms. One realm may be split over documents and files: lists are put together, the fields of a
 * singleton may stand apart, and whatever stands twice is an error that names both places.
 */

import { type Kind, keyBelow } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'
import type { Diagnostic } from '../diagnostics.ts'
import { isKeycloakRealm, keycloakHint } from './keycloak-realm.ts'
import {
  describe,
  isNull,
  type MapNode,
  type Node,
  type Pair,
  placeOfKey,
  placeOfNode,
} from './yaml/tree.ts'

export interface RealmParts {
  readonly realm: string
  readonly node: MapNode
  /** As they are shown, in the order in which they were read. */
  readonly files: readonly string[]
}

/** The natural key that an entry's own fields make, without its parent's; null where one of them is missing. */
export const ownKey = (kind: Kind, entry: MapNode): string | null => {
  const names: string[] = []
  for (const field of kind.keyFields) {
    const node = entry.pairs.get(field)?.value
    const value =
      node === undefined
        ? kind.spec.properties?.[field]?.default
        : node.type === 'scalar' && node.value
    if (typeof value !== 'string' && typeof value !== 'number') return null
    names.push(String(value))
  }
  return names.join('/')
}

/** How an entry is spoken of: `client "web"`, `client-role "web/reader"`. */
export const called = (kind: Kind, key: string): string => `${kind.kind} "${key}"`

const realmOf = (document: Node, diagnostics: Diagnostic[]): string | undefined => {
  const refuse = (code: string, message: string, node: Node, hint: string): undefined => {
    diagnostics.push({ severity: 'error', code, message, place: placeOfNode(node), hint })
  }
  if (isKeycloakRealm(document))
    return refuse(
      'realm-of-keycloak',
      'this is a realm export of Keycloak, which has other fields',
      document,
      keycloakHint,
    )
  if (document.type !== 'map')
    return refuse(
      'realm-document',
      `a realm is a map with the key "realm", and this is ${describe(document)}`,
      document,
      'begin the document with "realm: NAME"',
    )
  const named = document.pairs.get('realm')?.value
  if (named === undefined || isNull(named))
    return refuse(
      'realm-missing',
      'this document does not say which realm it is part of',
      named ?? document,
      'begin it with "realm: NAME", or keep the file out of the folder of realms',
    )
  if (named.type === 'scalar' && typeof named.value === 'string') return named.value
  return refuse(
    'realm-name',
    `the name of a realm is text, and this is ${describe(named)}`,
    named,
    named.type === 'scalar' ? 'put it in quotes' : 'write one name: "realm: NAME"',
  )
}

const twice = (
  code: string,
  message: string,
  first: Pair | Node,
  second: Pair | Node,
): Diagnostic => {
  const placeOf = (one: Pair | Node) => ('type' in one ? placeOfNode(one) : placeOfKey(one))
  return {
    severity: 'error',
    code,
    message,
    place: placeOf(second),
    related: [{ message: 'first here', place: placeOf(first) }],
  }
}

/** The same section of two parts. */
const joinSections = (name: string, first: Pair, second: Pair, diagnostics: Diagnostic[]): Pair => {
  const [a, b] = [first.value, second.value]
  if (a.type === 'list' && b.type === 'list')
    return { ...first, value: { ...a, items: [...a.items, ...b.items] } }
  if (a.type !== 'map' || b.type !== 'map') {
    diagnostics.push(
      twice(
        'duplicate-section',
        `"${name}" is given in two places that cannot be merged: ${describe(a)} and ${describe(b)}`,
        first,
        second,
      ),
    )
    return first
  }
  const pairs = new Map(a.pairs)
  for (const [field, pair] of b.pairs) {
    const known = pairs.get(field)
    if (known === undefined) pairs.set(field, pair)
    else
      diagnostics.push(
        twice(
          'duplicate-field',
          `the field "${field}" of ${name} is given in two places`,
          known,
          pair,
        ),
      )
  }
  return { ...first, value: { ...a, pairs } }
}

/** The field that an entry is known by, which is the place to show; the entry where there is none. */
const nameOf = (kind: Kind, entry: MapNode): Node =>
  entry.pairs.get(kind.keyFields[0] ?? '')?.value ?? entry

const findDuplicates = (realm: MapNode, diagnostics: Diagnostic[]): void => {
  const seenOfKinds = new Map<Kind, Map<string, Node>>()
  const visit = (kind: Kind, list: Node | undefined, parentKey: string): void => {
    if (list?.type !== 'list') return
    const children = childrenOf(kind)
    const seen = seenOfKinds.get(kind) ?? new Map<string, Node>()
    seenOfKinds.set(kind, seen)
    for (const entry of list.items) {
      const own = entry.type === 'map' ? ownKey(kind, entry) : null
      if (entry.type !== 'map' || own === null) continue
      const key = kind.parentKind === null ? own : keyBelow(kind, parentKey, own)
      const first = seen.get(key)
      const name = nameOf(kind, entry)
      if (first === undefined) seen.set(key, name)
      else
        diagnostics.push(
          twice('duplicate-entry', `${called(kind, key)} is given in two places`, first, name),
        )
      for (const child of children) visit(child, entry.pairs.get(child.section)?.value, key)
    }
  }
  for (const kind of sectionKinds) visit(kind, realm.pairs.get(kind.section)?.value, '')
}

/** The realms that documents are parts of, in the order of their first part. */
export const joinParts = (
  documents: readonly Node[],
): { readonly realms: readonly RealmParts[]; readonly diagnostics: readonly Diagnostic[] } => {
  const diagnostics: Diagnostic[] = []
  const realms = new Map<string, RealmParts>()
  for (const document of documents) {
    const realm = realmOf(document, diagnostics)
    if (realm === undefined || document.type !== 'map') continue
    const known = realms.get(realm)
    if (known === undefined) {
      realms.set(realm, { realm, node: document, files: [document.source.file] })
      continue
    }
    const pairs = new Map(known.node.pairs)
    for (const [name, pair] of document.pairs) {
      const first = pairs.get(name)
      if (first === undefined) pairs.set(name, pair)
      else if (name !== 'realm') pairs.set(name, joinSections(name, first, pair, diagnostics))
    }
    const files = [...new Set([...known.files, document.source.file])]
    realms.set(realm, { realm, node: { ...known.node, pairs }, files })
  }
  for (const { node } of realms.values()) findDuplicates(node, diagnostics)
  return { realms: [...realms.values()], diagnostics }
}
