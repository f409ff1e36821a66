/** Resolves the id of a path: the UUID, else the natural key (docs/decisions/admin-api.md). */

import { type Kind, keyBelow } from '#schemas/kind.ts'
import { Problem } from '#schemas/problems.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'

/** Undefined where there is none. A child's natural key is relative to its parent. */
export const lookIn = async (
  view: RealmView,
  kind: Kind,
  name: string,
  parent: StoredDocument | null = null,
): Promise<StoredDocument | undefined> => {
  const found = isUuid(name)
    ? await view.byId(kind.kind, name)
    : await view.get(kind.kind, parent ? keyBelow(kind, parent.key, name) : name)
  return !found || (parent && found.parentId !== parent.id) ? undefined : found
}

/** As `lookIn`; throws the problem of a path that names nothing. */
export const findIn = async (...place: Parameters<typeof lookIn>): Promise<StoredDocument> => {
  const found = await lookIn(...place)
  if (found) return found
  const [, kind, name] = place
  throw new Problem('not-found', `there is no ${kind.kind} "${name}"`)
}
