/** The realm as it would be after the operations so far: documents of the snapshot, changed on paper. */

import type { Figure } from '#schemas/change-counts.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { complete } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import type { Origin } from '#server/storage/tables/tables.ts'
import type { Snapshot } from './gather.ts'
import { type Operation, placeOf } from './operations.ts'

export interface Draft {
  id: string
  readonly kind: Kind
  readonly before: StoredDocument | null
  key: string
  /** Null once it is to be deleted. */
  body: Doc | null
  /** New values; once decided, only those that differ from what is stored. */
  secrets: Readonly<Record<string, string>>
  /** What is stored already: of a document that exists, or that history gives back. */
  sealed: Readonly<Record<string, StoredSecret>>
  origin: Origin
  owner: string | null
  protected: boolean
  /** Named by an operation, rather than carried along by another document's rename or deletion. */
  named: boolean
  /** Given in full by the list, in names as they are afterwards: nothing is rewritten in it. */
  stated: boolean
  /** Every realm is born with it, and nothing else was asked of it. */
  seed: boolean
  /** Position of its operation in the request. */
  at: string | undefined
  /** What it is in every new realm, where the list that makes the realm says something else of it. */
  readonly born?: { readonly key: string; readonly body: Doc }
  /** As what its change counts, once decided; null: it does not. */
  figure?: Figure | null
  /** The version that it had when it was there before. */
  readonly lastVersion?: number
  /** The document is removed, and its user stays. */
  release?: boolean
  /** The list deletes it, by name or along with another one: it holds on to nothing. */
  leaving?: boolean
}

/** The value with all defaults; the caller knows its type by the kind. */
export const draftValue = <T>({ kind, body }: Draft): T => complete(kind, body ?? {}) as T

const draftOf = (document: StoredDocument): Draft => ({
  id: document.id,
  kind: kindNamed(document.kind),
  before: document,
  key: document.key,
  body: document.body,
  secrets: {},
  sealed: document.secrets,
  origin: document.origin,
  owner: document.owner,
  protected: document.protected,
  named: false,
  stated: false,
  seed: false,
  at: undefined,
})

export class Drafts {
  readonly #byPlace = new Map<string, Draft>()
  readonly #all = new Map<string, Draft>()
  readonly #byParent = new Map<string, Draft[]>()
  readonly #along = new Map<Draft, Set<Draft>>()
  readonly #rewrites = new Map<Draft, Map<Draft, string>>()
  readonly #referrers: Snapshot['referrers']
  #settings: { readonly body: Doc; readonly value: SettingsDoc } | undefined

  constructor(snapshot: Snapshot) {
    this.#referrers = snapshot.referrers
    for (const document of snapshot.documents.values()) this.add(draftOf(document))
  }

  add(draft: Draft): void {
    this.#all.set(draft.id, draft)
    this.#byPlace.set(placeOf(draft.kind.kind, draft.key), draft)
    const parent = draft.before?.parentId
    if (parent) (this.#byParent.get(parent) ?? this.#family(parent)).push(draft)
  }

  #family(parentId: string): Draft[] {
    const family: Draft[] = []
    this.#byParent.set(parentId, family)
    return family
  }

  find(kind: string, key: string): Draft | undefined {
    return this.#byPlace.get(placeOf(kind, key))
  }

  /** The document that an operation is about, as it stands so far. */
  target({ kind, key, ...named }: Operation): Draft | undefined {
    if (named.id !== undefined) {
      const draft = this.#all.get(named.id)
      return draft?.kind === kind && draft.body !== null ? draft : undefined
    }
    return this.find(kind.kind, ('from' in named ? named.from : undefined) ?? key)
  }

  all(): Draft[] {
    return [...this.#all.values()]
  }

  /** The realm's settings as they will be. */
  settings(): SettingsDoc {
    const body = this.find(Settings.kind, Settings.kind)?.body ?? {}
    if (this.#settings?.body !== body)
      this.#settings = { body, value: complete(Settings, body) as SettingsDoc }
    return this.#settings.value
  }

  /** Whether secrets of clients stay readable. */
  get revealable(): boolean {
    return this.settings().clientSecretStorage === 'revealable'
  }

  /** The documents that referred to this one when the snapshot was taken, and still exist. */
  referrers(draft: Draft): Draft[] {
    return (this.#referrers.get(draft.id) ?? []).flatMap(({ id }) => {
      const referrer = this.#all.get(id)
      return referrer && referrer.body !== null ? [referrer] : []
    })
  }

  /** Direct children; by id, because a parent may have been renamed a moment ago. Those that moved away are none. */
  below(draft: Draft): Draft[] {
    return (this.#byParent.get(draft.id) ?? []).filter(
      ({ kind, key, body }) => body !== null && parentKeyOf(kind, key) === draft.key,
    )
  }

  /** The id of the document above this one, as it will be. */
  parentIdOf({ kind, key, before, body }: Draft): string | null {
    const above = body === null ? null : parentKeyOf(kind, key)
    if (above === null) return null
    return this.find(kind.parentKind ?? '', above)?.id ?? before?.parentId ?? null
  }

  /** Documents that change or go because this one goes. */
  along(draft: Draft): ReadonlySet<Draft> {
    return this.#along.get(draft) ?? new Set()
  }

  rename(draft: Draft, key: string): void {
    const old = placeOf(draft.kind.kind, draft.key)
    if (this.#byPlace.get(old) === draft) this.#byPlace.delete(old)
    draft.key = key
    this.#byPlace.set(placeOf(draft.kind.kind, key), draft)
  }

  /** The referrer names the target by the key `from`, which it has no longer. */
  rewriteLater(referrer: Draft, target: Draft, from: string): void {
    const pending = this.#rewrites.get(referrer) ?? new Map<Draft, string>()
    this.#rewrites.set(referrer, pending)
    if (!pending.has(target)) pending.set(target, from)
  }

  /** Documents that still name others by keys of before. */
  awaiting(): Draft[] {
    return [...this.#rewrites.keys()]
  }

  /** The documents that a referrer names by keys of before, with those keys; the caller rewrites them. */
  takeRewrites(referrer: Draft): ReadonlyMap<Draft, string> | undefined {
    const pending = this.#rewrites.get(referrer)
    this.#rewrites.delete(referrer)
    return pending
  }

  /** Takes documents out because `cause`, which may be one of them, goes; `touched` change along. */
  remove(cause: Draft, gone: readonly Draft[], touched: readonly Draft[]): void {
    const along = new Set([...gone, ...touched])
    along.delete(cause)
    this.#along.set(cause, along)
    for (const draft of gone) {
      draft.body = null
      const at = placeOf(draft.kind.kind, draft.key)
      if (this.#byPlace.get(at) === draft) this.#byPlace.delete(at)
    }
  }
}
