/** A realm as it would be after changes that are not committed: the documents that change lie over those that stay. */

import type { RealmView } from './copy.ts'
import type { StoredDocument } from './document.ts'

export interface OverlaidChange {
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
}

const placeOf = (kind: string, key: string): string => `${kind}\n${key}`

const overlays = new WeakMap<RealmView, ReadonlyMap<string, StoredDocument>>()

/** A document that lies over the realm; undefined where it is as it was, or the view is the realm itself. */
export const changedIn = (view: RealmView, kind: string, key: string): StoredDocument | undefined =>
  overlays.get(view)?.get(placeOf(kind, key))

export const overlaid = (view: RealmView, changes: readonly OverlaidChange[]): RealmView => {
  const after = changes.flatMap((change) => change.after ?? [])
  const byPlace = new Map(after.map((document) => [placeOf(document.kind, document.key), document]))
  const byId = new Map(after.map((document) => [document.id, document]))
  const touched = new Set(changes.flatMap((change) => [change.before?.id, change.after?.id]))
  const stays = (document: StoredDocument): boolean => !touched.has(document.id)
  const made: RealmView = {
    ...view,
    get: async (kind, key) => {
      const changed = byPlace.get(placeOf(kind, key))
      if (changed) return changed
      const document = await view.get(kind, key)
      return document && stays(document) ? document : undefined
    },
    byId: async (kind, id) => {
      if (!touched.has(id)) return view.byId(kind, id)
      const changed = byId.get(id)
      return changed?.kind === kind ? changed : undefined
    },
    list: async (kind) => [
      ...(await view.list(kind)).filter(stays),
      ...after.filter((document) => document.kind === kind),
    ],
  }
  overlays.set(made, byPlace)
  return made
}
