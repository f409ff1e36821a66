/** The realm as it would be after the operations so far: documents of the snapshot, changed on paper. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { complete } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { Operation } from './operations.ts'
import type { Snapshot } from './snapshot.ts'

export interface Draft {
  id: string
  readonly kind: Kind
  readonly before: StoredDocument | null
  key: string
  /** Null once it is to be deleted. */
  body: Doc | null
  secrets: Readonly<Record<string, string>>
  /** Named by an operation, rather than carried along by another document's rename or deletion. */
  named: boolean
}

/** The value with every default in its place; typed by who knows the kind. */
export const draftValue = <T>({ kind, body }: Draft): T => complete(kind, body ?? {}) as T

const place = (kind: string, key: string): string => `${kind}\n${key}`

export class Drafts {
  readonly #byPlace = new Map<string, Draft>()
  readonly #all = new Map<string, Draft>()
  readonly #byParent = new Map<string, Draft[]>()
  readonly #referrers: Snapshot['referrers']

  constructor(snapshot: Snapshot) {
    this.#referrers = snapshot.referrers
    for (const document of snapshot.documents.values())
      this.add({
        id: document.id,
        kind: kindNamed(document.kind),
        before: document,
        key: document.key,
        body: document.body,
        secrets: {},
        named: false,
      })
  }

  add(draft: Draft): void {
    this.#all.set(draft.id, draft)
    this.#byPlace.set(place(draft.kind.kind, draft.key), draft)
    const parent = draft.before?.parentId
    if (parent) (this.#byParent.get(parent) ?? this.#family(parent)).push(draft)
  }

  #family(parentId: string): Draft[] {
    const family: Draft[] = []
    this.#byParent.set(parentId, family)
    return family
  }

  find(kind: string, key: string): Draft | undefined {
    return this.#byPlace.get(place(kind, key))
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

  ofKind(kind: string): Draft[] {
    return this.all().filter((draft) => draft.kind.kind === kind && draft.body !== null)
  }

  /** The realm's settings as they will be. */
  settings(): SettingsDoc {
    return complete(Settings, this.find(Settings.kind, Settings.kind)?.body ?? {}) as SettingsDoc
  }

  /** The documents that referred to this one when the snapshot was taken, and still exist. */
  referrers(draft: Draft): Draft[] {
    return (this.#referrers.get(draft.id) ?? []).flatMap(({ id }) => {
      const referrer = this.#all.get(id)
      return referrer && referrer.body !== null ? [referrer] : []
    })
  }

  /** Direct children; by id, because a parent may have been renamed a moment ago. */
  below(draft: Draft): Draft[] {
    return (this.#byParent.get(draft.id) ?? []).filter((other) => other.body !== null)
  }

  rename(draft: Draft, key: string): void {
    const old = place(draft.kind.kind, draft.key)
    if (this.#byPlace.get(old) === draft) this.#byPlace.delete(old)
    draft.key = key
    this.#byPlace.set(place(draft.kind.kind, key), draft)
  }

  remove(draft: Draft): void {
    draft.body = null
    const at = place(draft.kind.kind, draft.key)
    if (this.#byPlace.get(at) === draft) this.#byPlace.delete(at)
  }
}
