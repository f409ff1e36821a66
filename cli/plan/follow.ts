/** References follow a rename, as the server will make them: a document that only names the new key has not changed. */

import { type Doc, isObject, type JsonSchema, type RefMark } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { type Reference, referencesOf, replaceReferences } from '#schemas/walk.ts'
import type { ActualDocument } from './actual.ts'
import { placeKey } from './names.ts'

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

/** A key that no document has: several names may change places at once, so each is replaced in two steps. */
const standIn = (index: number): string => `\u0000${index}`

const replaced = (
  document: ActualDocument,
  moved: readonly (Reference & { to: string })[],
): Doc => {
  const { kind } = document
  const away = moved.reduce(
    (body, { kind: target, key }, i) =>
      replaceReferences(kind, body, { kind: target, from: key, to: standIn(i) }),
    document.body,
  )
  const back = moved.reduce(
    (body, { kind: target, to }, i) =>
      replaceReferences(kind, body, { kind: target, from: standIn(i), to }),
    away,
  )
  return compact(kind, back)
}

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
  const known = new Map<ActualDocument, (Reference & { to: string })[]>()
  const refers = new Map<Kind, boolean>()
  const canRefer = (kind: Kind): boolean => {
    const can = refers.get(kind) ?? [...referredKinds(kind).keys()].some((name) => kinds.has(name))
    refers.set(kind, can)
    return can
  }
  const renamedIn = (document: ActualDocument): (Reference & { to: string })[] => {
    const { kind, key } = document
    if (keys.size === 0 || !canRefer(kind)) return []
    const before = known.get(document)
    if (before) return before
    const found = new Map<string, Reference & { to: string }>()
    for (const reference of referencesOf(kind, document.body, key)) {
      const place = placeKey(reference.kind, reference.key)
      const to = keys.get(place)
      if (to !== undefined) found.set(place, { ...reference, to })
    }
    const renamed = [...found.values()]
    known.set(document, renamed)
    return renamed
  }
  return {
    isAffected: (document) => renamedIn(document).length > 0,
    bodyOf: (document) => {
      const renamed = renamedIn(document)
      return renamed.length === 0 ? document.body : replaced(document, renamed)
    },
  }
}
