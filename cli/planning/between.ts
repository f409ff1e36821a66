/** The changes between two states of a realm, as the server reports them. */

import { diff } from '#schemas/diff.ts'
import type { ChangesetChange } from '#schemas/wire/wire.ts'
import type { Actual } from './actual.ts'
import { byPlace } from './names.ts'

export const changesBetween = (before: Actual, after: Actual): ChangesetChange[] => {
  const places = new Set([...before.documents.keys(), ...after.documents.keys()])
  const changes: ChangesetChange[] = []
  for (const place of places) {
    const [old, now] = [before.documents.get(place), after.documents.get(place)]
    const document = now ?? old
    if (!document || old?.hash === now?.hash) continue
    changes.push({
      op: old && now ? 'update' : now ? 'create' : 'delete',
      kind: document.kind.kind,
      key: document.key,
      fields: diff(document.kind, old?.body ?? null, now?.body ?? null),
      secrets: [],
    })
  }
  return changes.sort(byPlace)
}
