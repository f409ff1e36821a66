/** From decided drafts to the documents as they will stand, with ids, versions, owners and sealed secrets. */

import { parentKeyOf } from '#schemas/kind.ts'
import { contentHash } from '#schemas/normalize.ts'
import { secretFields } from '#schemas/walk.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import type { Origin } from '#server/storage/tables.ts'
import type { Prepared } from './behaviour.ts'
import type { Draft, Drafts } from './drafts.ts'
import type { Door } from './operations.ts'
import type { Vault } from './secrets.ts'

export interface Effect {
  readonly draft: Draft
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
  readonly prepared: Prepared
}

/** A write through any door that owns documents turns what it names into its own; others leave it as it was. */
const provenance = (draft: Draft, door: Door): { origin: Origin; owner: string | null } => {
  const { before } = draft
  if (!before) return { origin: door.origin, owner: door.owner }
  if (!draft.named || door.origin !== 'declared') return before
  return { origin: before.origin === 'built-in' ? 'built-in' : 'declared', owner: door.owner }
}

const secretsOf = (
  draft: Draft,
  prepared: Prepared,
  realm: string,
  vault: Vault,
  revealable: boolean,
): Record<string, StoredSecret> => {
  const kept: Record<string, StoredSecret> = { ...draft.before?.secrets }
  const given = prepared.secrets ?? draft.secrets
  for (const { pointer, mark } of secretFields(draft.kind)) {
    const plain = given[pointer]
    if (plain === undefined || mark.store === 'initial') continue
    const place = { realm, kind: draft.kind.kind, id: draft.id }
    kept[pointer] = vault.store(
      place,
      pointer,
      revealable ? { ...mark, store: 'sealed' } : mark,
      plain,
    )
  }
  return kept
}

export const effectOf = (
  draft: Draft,
  prepared: Prepared,
  context: {
    readonly realm: string
    readonly drafts: Drafts
    readonly door: Door
    readonly vault: Vault
    readonly revealable: boolean
    readonly now: number
  },
): Effect => {
  const { before, body, kind } = draft
  if (body === null) return { draft, before, after: null, prepared }
  const above = parentKeyOf(kind, draft.key)
  const parent = above === null ? undefined : context.drafts.find(kind.parentKind ?? '', above)
  const after: StoredDocument = {
    id: draft.id,
    realm: context.realm,
    kind: kind.kind,
    key: draft.key,
    parentId: parent?.id ?? null,
    ...pick(provenance(draft, context.door)),
    protected: before?.protected ?? false,
    version: (before?.version ?? 0) + 1,
    hash: contentHash(body),
    body,
    secrets: secretsOf(draft, prepared, context.realm, context.vault, context.revealable),
    createdAt: before?.createdAt ?? context.now,
    updatedAt: context.now,
    weight: 0,
  }
  return { draft, before, after, prepared }
}

const pick = ({ origin, owner }: { origin: Origin; owner: string | null }) => ({ origin, owner })
