/** The documents of a realm while renames are carried out on paper: what is below a renamed document goes along. */

import { parentKeyOf } from '#schemas/kind.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import type { Actual, ActualDocument } from './actual.ts'
import { placeKey } from './names.ts'

export interface Paper {
  /** The document that has this place so far. */
  at(place: string): ActualDocument | undefined
  /** The document that had this place before anything was renamed. */
  wasAt(place: string): ActualDocument | undefined
  keyOf(document: ActualDocument): string
  move(document: ActualDocument, key: string): void
  readonly moved: ReadonlyMap<ActualDocument, string>
}

export const createPaper = (actual: Actual, sections: ReadonlySet<string>): Paper => {
  const moved = new Map<ActualDocument, string>()
  const standing = new Map<string, ActualDocument>()
  const below = new Map<ActualDocument, Set<ActualDocument>>()
  const keyOf = (document: ActualDocument): string => moved.get(document) ?? document.key
  const placeOf = (document: ActualDocument): string =>
    placeKey(document.kind.kind, keyOf(document))

  const parentOf = (document: ActualDocument): ActualDocument | undefined => {
    const parentKey = parentKeyOf(document.kind, keyOf(document))
    if (parentKey === null) return undefined
    return standing.get(placeKey(document.kind.parentKind ?? '', parentKey))
  }
  const join = (document: ActualDocument): void => {
    const parent = parentOf(document)
    if (!parent) return
    const family = below.get(parent) ?? new Set()
    below.set(parent, family.add(document))
  }

  for (const [place, document] of actual.documents)
    if (sections.has(sectionOf(document.kind))) standing.set(place, document)
  for (const document of standing.values()) join(document)

  const rekey = (document: ActualDocument, key: string): void => {
    const from = keyOf(document)
    if (standing.get(placeOf(document)) === document) standing.delete(placeOf(document))
    moved.set(document, key)
    standing.set(placeOf(document), document)
    for (const child of below.get(document) ?? [])
      rekey(child, key + keyOf(child).slice(from.length))
  }

  return {
    at: (place) => standing.get(place),
    wasAt: (place) => actual.documents.get(place),
    keyOf,
    move: (document, key) => {
      const parent = parentOf(document)
      if (parent) below.get(parent)?.delete(document)
      rekey(document, key)
      join(document)
    },
    moved,
  }
}
