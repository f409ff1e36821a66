/**
 * References between documents: they must lead somewhere, follow a rename, and hold on to, go with, or let go
 * of a deleted document, as the mark on the field says.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { compact } from '#schemas/normalize.ts'
import { type FieldError, Problem } from '#schemas/problems.ts'
import { implicitHint } from '#schemas/realm/implicit-references.ts'
import { type Reference, referencesOf, replaceReferences } from '#schemas/walk.ts'
import type { Draft, Drafts } from '../write/drafts.ts'
import { placeOf } from '../write/operations.ts'

/** How many users of a document a refused deletion lists. */
const shown = 20
/** How many of them its message names. */
const named = 3

interface Index {
  readonly key: string
  readonly byPlace: ReadonlyMap<string, Reference[]>
}

/** By body, which is replaced and never changed: one document may name thousands, and each of them asks for it. */
const indexes = new WeakMap<Doc, Index>()

const indexOf = ({ kind, key }: Draft, body: Doc): Index => {
  const known = indexes.get(body)
  if (known?.key === key) return known
  const byPlace = Map.groupBy(referencesOf(kind, body, key), (one) => placeOf(one.kind, one.key))
  const index = { key, byPlace }
  indexes.set(body, index)
  return index
}

const referencesTo = (referrer: Draft, target: Draft): readonly Reference[] =>
  referrer.body === null
    ? []
    : (indexOf(referrer, referrer.body).byPlace.get(placeOf(target.kind.kind, target.key)) ?? [])

/** Puts the key that each has by now, or none, where a document names others; a default that it follows is not written into it. */
export const settleReferences = (drafts: Drafts, referrer: Draft): void => {
  const pending = drafts.takeRewrites(referrer)
  if (!pending || !referrer.body) return
  const replacements = [...pending].map(([target, from]) => ({
    kind: target.kind.kind,
    from,
    to: target.body === null ? null : target.key,
  }))
  referrer.body = compact(
    referrer.kind,
    replaceReferences(referrer.kind, referrer.body, replacements),
  )
}

/** Once for a list and not for each of its operations: one document may name all that they rename or delete. */
export const settleAllReferences = (drafts: Drafts): void => {
  for (const referrer of drafts.awaiting()) settleReferences(drafts, referrer)
}

/** Documents that every realm is born with name each other; while the realm is made, no snapshot knows it. */
const bornReferrers = (drafts: Drafts, draft: Draft): Draft[] =>
  draft.born === undefined
    ? []
    : drafts
        .all()
        .filter((other) => other.seed && other !== draft && referencesTo(other, draft).length > 0)

/** Renames a document and its children; references to them are rewritten when references are settled. */
export const followRename = (drafts: Drafts, draft: Draft, key: string): void => {
  const from = draft.key
  const below = drafts.below(draft)
  const referrers = [...drafts.referrers(draft), ...bornReferrers(drafts, draft)]
  drafts.rename(draft, key)
  for (const referrer of [...referrers, draft])
    if (!referrer.stated) drafts.rewriteLater(referrer, draft, from)
  for (const child of below) followRename(drafts, child, key + child.key.slice(from.length))
}

interface Deletion {
  readonly doomed: Draft[]
  readonly holders: Draft[]
  readonly detached: { readonly referrer: Draft; readonly target: Draft }[]
}

const collect = (drafts: Drafts, draft: Draft): Deletion => {
  const deletion: Deletion = { doomed: [], holders: [], detached: [] }
  const queue = [draft]
  const seen = new Set<Draft>()
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (seen.has(next)) continue
    seen.add(next)
    deletion.doomed.push(next)
    queue.push(...drafts.below(next))
    for (const referrer of drafts.referrers(next))
      for (const { onDelete } of referencesTo(referrer, next)) {
        // What the same list states in full stays as it is stated: it holds on.
        if (onDelete === 'refuse' || referrer.stated) deletion.holders.push(referrer)
        else if (onDelete === 'cascade') queue.push(referrer)
        else deletion.detached.push({ referrer, target: next })
      }
  }
  return deletion
}

/** Marks what a list deletes, with all that goes along: none of it holds on to what else the list deletes. */
export const markLeaving = (drafts: Drafts, deleted: readonly Draft[]): void => {
  const queue = [...deleted]
  for (let next = queue.pop(); next; next = queue.pop()) {
    if (next.leaving) continue
    next.leaving = true
    queue.push(...drafts.below(next))
    for (const referrer of drafts.referrers(next))
      if (referencesTo(referrer, next).some(({ onDelete }) => onDelete === 'cascade'))
        queue.push(referrer)
  }
}

/** The first by name: databases give them in any order. */
const places = (drafts: readonly Draft[]) =>
  drafts
    .map(({ kind, key }) => ({ kind: kind.kind, key }))
    .sort((a, b) => (`${a.kind}\n${a.key}` < `${b.kind}\n${b.key}` ? -1 : 1))
    .slice(0, shown)

const refuseProtected = (draft: Draft, doomed: readonly Draft[]): void => {
  const kept = doomed.filter((one) => one.protected)
  if (kept.length === 0) return
  const names = kept.slice(0, shown).map(({ kind, key }) => `${kind.kind} "${key}"`)
  const along = kept.includes(draft)
    ? ''
    : `, which would go with ${draft.kind.kind} "${draft.key}"`
  throw new Problem('protected', `protected against deletion: ${names.join(', ')}${along}`, {
    extra: { documents: places(kept) },
  })
}

/** Deletes a document with its dependents, once references are settled, or refuses and names the documents that refer to it. */
export const settleDeletion = (drafts: Drafts, draft: Draft): readonly Draft[] => {
  const { doomed, holders, detached } = collect(drafts, draft)
  refuseProtected(draft, doomed)
  const gone = new Set(doomed)
  const holding = [...new Set(holders)].filter((holder) => !gone.has(holder) && !holder.leaving)
  if (holding.length > 0) {
    const usedBy = places(holding)
    const names = usedBy.slice(0, named).map(({ kind, key }) => `${kind} "${key}"`)
    const others = holding.length - names.length
    throw new Problem(
      'in-use',
      `${draft.kind.kind} "${draft.key}" is used by ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`,
      { extra: { usedByCount: holding.length, usedBy } },
    )
  }
  for (const { referrer, target } of detached)
    if (!gone.has(referrer)) drafts.rewriteLater(referrer, target, target.key)
  drafts.remove(
    draft,
    doomed,
    detached.map(({ referrer }) => referrer),
  )
  return doomed
}

/** What a changed document newly refers to; the others were checked when they were written. */
const addedReferences = (draft: Draft): Reference[] => {
  if (draft.body === null) return []
  if (!draft.before) return referencesOf(draft.kind, draft.body, draft.key)
  const before = referencesOf(draft.kind, draft.before.body, draft.before.key)
  const known = new Set(before.map(({ field, kind, key }) => `${field}\n${kind}\n${key}`))
  return referencesOf(draft.kind, draft.body, draft.key).filter(
    ({ field, kind, key }) => !known.has(`${field}\n${kind}\n${key}`),
  )
}

/** New references that lead to no document that exists after the change. */
export const danglingIn = (drafts: Drafts, draft: Draft): FieldError[] =>
  addedReferences(draft)
    .filter(({ kind, key }) => !drafts.find(kind, key))
    .map(({ field, kind, key }) => ({
      field,
      code: 'missing-reference',
      message: [`there is no ${kind} "${key}"`, implicitHint(kind, key) ?? []].flat().join('; '),
    }))
