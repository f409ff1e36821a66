/**
 * References between documents: they must lead somewhere, follow a rename, and hold on to, go with, or let go
 * of a deleted document, as the mark on the field says.
 */

import { invalid, Problem } from '#schemas/problems.ts'
import { type Reference, referencesOf, replaceReferences } from '#schemas/walk.ts'
import type { Draft, Drafts } from './drafts.ts'

/** How many users of a document a refused deletion names. */
const shown = 20

const referencesTo = (referrer: Draft, target: Draft): Reference[] =>
  referrer.body === null
    ? []
    : referencesOf(referrer.kind, referrer.body, referrer.key).filter(
        ({ kind, key }) => kind === target.kind.kind && key === target.key,
      )

/** Gives a document, and all below it, the new key, and rewrites whoever names them. */
export const followRename = (drafts: Drafts, draft: Draft, key: string): void => {
  const from = draft.key
  const { kind } = draft
  const below = drafts.below(draft)
  const referrers = drafts.referrers(draft)
  drafts.rename(draft, key)
  for (const referrer of [...referrers, draft])
    if (referrer.body)
      referrer.body = replaceReferences(referrer.kind, referrer.body, {
        kind: kind.kind,
        from,
        to: key,
      })
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
        if (onDelete === 'cascade') queue.push(referrer)
        else if (onDelete === 'refuse') deletion.holders.push(referrer)
        else deletion.detached.push({ referrer, target: next })
      }
  }
  return deletion
}

/** Deletes a document with what goes along, or refuses and says who holds on to it. */
export const settleDeletion = (drafts: Drafts, draft: Draft): void => {
  const { doomed, holders, detached } = collect(drafts, draft)
  const gone = new Set(doomed)
  const holding = [...new Set(holders)].filter((holder) => !gone.has(holder))
  if (holding.length > 0)
    throw new Problem(
      'in-use',
      `${draft.kind.kind} "${draft.key}" is used by ${holding.length} document${holding.length === 1 ? '' : 's'}`,
      {
        extra: {
          usedByCount: holding.length,
          usedBy: holding.slice(0, shown).map(({ kind, key }) => ({ kind: kind.kind, key })),
        },
      },
    )
  for (const { referrer, target } of detached)
    if (referrer.body && !gone.has(referrer))
      referrer.body = replaceReferences(referrer.kind, referrer.body, {
        kind: target.kind.kind,
        from: target.key,
        to: null,
      })
  for (const one of doomed) drafts.remove(one)
}

/** What a changed document newly refers to; the others were checked when they were written. */
export const addedReferences = (draft: Draft): Reference[] => {
  if (draft.body === null) return []
  const before = draft.before ? referencesOf(draft.kind, draft.before.body, draft.before.key) : []
  const known = new Set(before.map(({ field, kind, key }) => `${field}\n${kind}\n${key}`))
  return referencesOf(draft.kind, draft.body, draft.key).filter(
    ({ field, kind, key }) => !known.has(`${field}\n${kind}\n${key}`),
  )
}

/** Every new reference leads to a document that exists after the change. */
export const checkReferences = (drafts: Drafts, changed: readonly Draft[]): void => {
  const errors = changed.flatMap((draft) =>
    addedReferences(draft)
      .filter(({ kind, key }) => !drafts.find(kind, key))
      .map(({ field, kind, key }) => ({
        field,
        code: 'missing-reference',
        message: `there is no ${kind} "${key}"`,
      })),
  )
  if (errors.length > 0) throw invalid(errors)
}
