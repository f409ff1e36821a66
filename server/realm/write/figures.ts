/**
 * Classifies each changed document. Changes of the caller are distinguished from their consequences: a reference that follows
 * a rename is a consequence, although the document is written. Compared by value, also for documents that are named.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Figure } from '#schemas/change-counts.ts'
import { diff } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { compact } from '#schemas/normalize.ts'
import { referencesOf, replaceReferences } from '#schemas/walk.ts'
import type { Draft } from './drafts.ts'
import { placeOf } from './operations.ts'

/** A document as it would be if no operation had named it. */
interface Followed {
  readonly key: string
  readonly body: Doc
}

type Existing = Draft & { readonly before: NonNullable<Draft['before']> }

const exists = (draft: Draft): draft is Existing => draft.before !== null

const following = (all: readonly Draft[]): ((draft: Existing) => Followed) => {
  const moved = all
    .filter(exists)
    .filter(({ before, body, key }) => body !== null && before.key !== key)
  if (moved.length === 0) return ({ before }) => before
  const byId = new Map(moved.map((draft) => [draft.id, draft]))
  const keys = new Map(moved.map(({ kind, before, key }) => [placeOf(kind.kind, before.key), key]))

  const keyOf = ({ before }: Existing): string => {
    const parent = byId.get(before.parentId ?? '')
    return parent ? parent.key + before.key.slice(parent.before.key.length) : before.key
  }
  const bodyOf = ({ kind, before }: Existing): Doc => {
    const replacements = referencesOf(kind, before.body, before.key).flatMap((reference) => {
      const to = keys.get(placeOf(reference.kind, reference.key))
      return to === undefined ? [] : [{ kind: reference.kind, from: reference.key, to }]
    })
    return replacements.length === 0
      ? before.body
      : compact(kind, replaceReferences(kind, before.body, replacements))
  }
  return (draft) => ({ key: keyOf(draft), body: bodyOf(draft) })
}

/** Whether the document is more than it would be by itself; `secrets` are by now those that differ from what is stored. */
const isDeclared = (draft: Draft, wasProtected: boolean, { key, body }: Followed): boolean =>
  draft.key !== key ||
  draft.protected !== wasProtected ||
  Object.keys(draft.secrets).length > 0 ||
  (!isDeepStrictEqual(draft.body, body) && diff(draft.kind, body, draft.body).length > 0)

export const figuresFor = (all: readonly Draft[]): ((draft: Draft) => Figure | null) => {
  const followed = following(all)
  return (draft) => {
    const { before, body, origin, owner, named, seed, born } = draft
    // Runtime documents are no configuration: no revision has them.
    if (seed || origin === 'runtime') return null
    if (body === null) return 'deleted'
    if (born) return isDeclared(draft, false, born) ? 'updated' : owner === null ? null : 'adopted'
    if (!exists(draft) || draft.before.origin === 'runtime') return 'created'
    if (!named) return 'along'
    if (isDeclared(draft, draft.before.protected, followed(draft))) return 'updated'
    return before?.owner !== owner || before?.origin !== origin ? 'adopted' : 'along'
  }
}
