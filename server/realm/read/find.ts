/** Resolves the id of a path: the UUID, else the natural key (docs/decisions/admin-api.md). */

import { type Kind, keyBelow } from '#schemas/kind.ts'
import { Problem } from '#schemas/problems.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'

/** A child's natural key is relative to its parent. */
export const findIn = async (
  view: RealmView,
  kind: Kind,
  name: string,
  parent: StoredDocument | null = null,
): Promise<StoredDocument> => {
  const found = isUuid(name)
    ? await view.byId(kind.kind, name)
    : await view.get(kind.kind, parent ? keyBelow(kind, parent.key, name) : name)
  if (!found || (parent && found.parentId !== parent.id))
    throw new Problem('not-found', `there is no ${kind.kind} "${name}"`)
  return found
}
