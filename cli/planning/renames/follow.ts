/** References follow a rename, as the server will make them: a document that only names the new key has not changed. */

import { type Doc, isObject, type JsonSchema, type RefMark } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { type Replacement, referencesOf, replaceReferences } from '#schemas/walk.ts'
import type { ActualDocument } from '../actual.ts'
import { placeKey } from '../names.ts'

/** How documents of this kind can refer to others, by the kind of those. */
export const referredKinds = (kind: Kind): ReadonlyMap<string, readonly RefMark[]> => {
  const known = referredByKind.get(kind)
  if (known) return known
  const found = new Map<string, RefMark[]>()
  const visit = (schema: JsonSchema): void => {
    const mark = schema['x-ref']
    if (mark) found.set(mark.kind, [...(found.get(mark.kind) ?? []), mark])
    const inner = [
      ...Object.values(schema.properties ?? {}),
      ...Object.values(schema.patternProperties ?? {}),
      ...(schema.items ? [schema.items] : []),
      ...(isObject(schema.additionalProperties) ? [schema.additionalProperties] : []),
    ]
    inner.forEach(visit)
  }
  visit(kind.spec)
  referredByKind.set(kind, found)
  return found
}

const referredByKind = new WeakMap<Kind, ReadonlyMap<string, readonly RefMark[]>>()

export interface Following {
  /** Whether it names a document that gets a new key. */
  isAffected(document: ActualDocument): boolean
  /** How its body reads once the documents have their new keys. */
  bodyOf(document: ActualDocument): Doc
}

export const follow = (moved: ReadonlyMap<ActualDocument, string>): Following => {
  const keys = new Map(
    [...moved]
      .filter(([{ key }, to]) => key !== to)
      .map(([{ kind, key }, to]) => [placeKey(kind.kind, key), to]),
  )
  const kinds = new Set([...moved.keys()].map(({ kind }) => kind.kind))
  const known = new Map<ActualDocument, readonly Replacement[]>()
  const bodies = new Map<ActualDocument, Doc>()
  const refers = new Map<Kind, boolean>()
  const canRefer = (kind: Kind): boolean => {
    const can = refers.get(kind) ?? [...referredKinds(kind).keys()].some((name) => kinds.has(name))
    refers.set(kind, can)
    return can
  }
  const renamedIn = (document: ActualDocument): readonly Replacement[] => {
    const { kind, key } = document
    if (keys.size === 0 || !canRefer(kind)) return []
    const before = known.get(document)
    if (before) return before
    const found = new Map<string, Replacement>()
    for (const reference of referencesOf(kind, document.body, key)) {
      const place = placeKey(reference.kind, reference.key)
      const to = keys.get(place)
      if (to !== undefined) found.set(place, { kind: reference.kind, from: reference.key, to })
    }
    const renamed = [...found.values()]
    known.set(document, renamed)
    return renamed
  }
  return {
    isAffected: (document) => renamedIn(document).length > 0,
    bodyOf: (document) => {
      const renamed = renamedIn(document)
      if (renamed.length === 0) return document.body
      const { kind, body } = document
      const read = bodies.get(document) ?? compact(kind, replaceReferences(kind, body, renamed))
      bodies.set(document, read)
      return read
    },
  }
}
