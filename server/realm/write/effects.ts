/** From decided drafts to the documents as they will stand, with ids, versions, owners and sealed secrets. */

import { diff, type FieldChange } from '#schemas/diff.ts'
import { contentHash } from '#schemas/normalize.ts'
import { secretFields } from '#schemas/walk.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import type { Prepared } from '../behaviours/behaviour.ts'
import type { Draft, Drafts } from './drafts.ts'
import { isToBeHashed } from './secrets-to-hash.ts'

export interface Effect {
  readonly draft: Draft
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
  readonly prepared: Prepared
}

/** A key that a document has only while others take theirs. */
const isStandIn = (key: string): boolean => key.startsWith('\u0001')

/** The reported key: for a deleted child, below the new name of its parent. */
export const keyOf = ({ draft, before, after }: Effect): string =>
  after?.key ?? (isStandIn(draft.key) ? (before?.key ?? draft.key) : draft.key)

const secretsOf = (
  draft: Draft,
  prepared: Prepared,
  realm: string,
  vault: Vault,
  revealable: boolean,
): Record<string, StoredSecret> => {
  const kept: Record<string, StoredSecret> = { ...draft.sealed }
  const given = prepared.secrets ?? draft.secrets
  for (const { pointer, mark } of secretFields(draft.kind)) {
    const place = { realm, kind: draft.kind.kind, id: draft.id }
    const stored = draft.sealed[pointer]
    const toHash = stored && isToBeHashed(mark, stored, revealable)
    const plain = given[pointer] ?? (toHash ? vault.reveal(place, pointer, stored) : null)
    if (plain === null || mark.store === 'initial') continue
    kept[pointer] = vault.store(
      place,
      pointer,
      revealable ? { ...mark, store: 'sealed' } : mark,
      plain,
    )
  }
  return kept
}

const fieldChanges = new WeakMap<Effect, readonly FieldChange[]>()

/** What changes in the document: asked for by the audit and by the reply. */
export const fieldsChangedBy = (effect: Effect): readonly FieldChange[] => {
  const { draft, before, after } = effect
  const found =
    fieldChanges.get(effect) ?? diff(draft.kind, before?.body ?? null, after?.body ?? null)
  fieldChanges.set(effect, found)
  return found
}

export const effectOf = (
  draft: Draft,
  prepared: Prepared,
  context: {
    readonly realm: string
    readonly drafts: Drafts
    readonly vault: Vault
    readonly revealable: boolean
    readonly now: number
  },
): Effect => {
  const { before, body, kind } = draft
  if (body === null) return { draft, before, after: null, prepared }
  const after: StoredDocument = {
    id: draft.id,
    realm: context.realm,
    kind: kind.kind,
    key: draft.key,
    parentId: context.drafts.parentIdOf(draft),
    origin: draft.origin,
    owner: draft.owner,
    protected: draft.protected,
    version: (before?.version ?? draft.lastVersion ?? 0) + 1,
    hash: contentHash(body),
    body,
    secrets: secretsOf(draft, prepared, context.realm, context.vault, context.revealable),
    createdAt: before?.createdAt ?? context.now,
    updatedAt: context.now,
    weight: 0,
  }
  return { draft, before, after, prepared }
}
