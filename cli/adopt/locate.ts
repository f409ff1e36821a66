/** Finds documents and lists in the files of a realm, in every layer. */

import { type Kind, keyBelow } from '#schemas/kind.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { childrenOf } from '#schemas/registry.ts'
import type { LoadedRealm } from '../load/loaded.ts'
import { ownKey } from '../load/parts.ts'
import { type ReferenceOptions, settleReferences } from '../load/variables/references.ts'
import type { Source } from '../load/yaml/source.ts'
import { placeKey } from '../planning/names.ts'
import { type Cursor, childOf, itemsOf, rootCursor } from './text/cursor.ts'
import { type DocumentSyntax, syntaxOf } from './text/syntax.ts'

export interface Located {
  readonly roots: readonly Cursor[]
  /** By `placeKey`: the entry in each layer that says something about it, the lowest first. */
  readonly entries: ReadonlyMap<string, readonly Cursor[]>
  /** By the `placeKey` of kind and parent, the lowest layer first. */
  readonly lists: ReadonlyMap<string, readonly Cursor[]>
  /** Entries of overlays that take a document out. */
  readonly removals: ReadonlyMap<string, Cursor>
}

const add = <T>(map: Map<string, T[]>, key: string, value: T): void => {
  const known = map.get(key)
  if (known) known.push(value)
  else map.set(key, [value])
}

const isRemoval = (entry: Cursor): boolean => {
  const says = entry.layer > 0 ? childOf(entry, 'remove')?.says : undefined
  return says?.type === 'scalar' && says.value === true
}

const rootsOf = async (
  { parts }: LoadedRealm,
  options: ReferenceOptions,
  syntaxes: Map<Source, DocumentSyntax[]>,
): Promise<Cursor[]> => {
  const roots: Cursor[] = []
  for (const { layer, index, root } of parts) {
    const known = syntaxes.get(root.source) ?? syntaxOf(root.source)
    syntaxes.set(root.source, known)
    const syntax = known[index]
    if (syntax) roots.push(rootCursor(syntax, layer, await settleReferences(root, options, [])))
  }
  return roots
}

export const locate = async (
  loaded: LoadedRealm,
  options: ReferenceOptions,
  syntaxes: Map<Source, DocumentSyntax[]>,
): Promise<Located> => {
  const roots = await rootsOf(loaded, options, syntaxes)
  const entries = new Map<string, Cursor[]>()
  const lists = new Map<string, Cursor[]>()
  const removals = new Map<string, Cursor>()

  const addEntry = (kind: Kind, key: string, entry: Cursor): void => {
    const place = placeKey(kind.kind, key)
    if (isRemoval(entry)) {
      removals.set(place, entry)
      entries.delete(place)
      return
    }
    add(entries, place, entry)
    for (const child of childrenOf(kind)) addList(child, childOf(entry, child.section), key)
  }

  const addList = (kind: Kind, list: Cursor | undefined, parentKey: string | null): void => {
    if (list?.says.type !== 'list') return
    add(lists, placeKey(kind.kind, parentKey ?? ''), list)
    for (const item of itemsOf(list)) {
      const own = item.says.type === 'map' ? ownKey(kind, item.says) : null
      if (own === null) continue
      addEntry(kind, kind.parentKind === null ? own : keyBelow(kind, parentKey, own), item)
    }
  }

  for (const root of roots)
    for (const kind of sectionKinds) {
      const section = childOf(root, kind.section)
      if (kind.shape !== 'singleton') addList(kind, section, null)
      else if (section) addEntry(kind, kind.kind, section)
    }
  return { roots, entries, lists, removals }
}
