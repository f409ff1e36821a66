/**
 * Entries that would change places, two of them or more in a circle. Files that say so look the same before and after their
 * apply, so that the next apply would change the names back.
 */

import type { Kind } from '#schemas/kind.ts'
import { placeKey } from '../names.ts'

interface Renamed {
  readonly kind: Kind
  readonly key: string
  readonly renamedFrom: string | null
}

export const placesChange =
  'names cannot change places in one apply: the next one would change them back'
export const placesHint = 'write a third name for one of them, apply, and then write its new name'

export const changingPlaces = <Entry extends Renamed>(renamed: readonly Entry[]): Set<Entry> => {
  const byKey = new Map(renamed.map((entry) => [placeKey(entry.kind.kind, entry.key), entry]))
  const found = new Set<Entry>()
  const walked = new Set<Entry>()
  for (const start of renamed) {
    const path = new Set<Entry>()
    let next: Entry | undefined = start
    while (next && !walked.has(next)) {
      walked.add(next)
      path.add(next)
      next = byKey.get(placeKey(next.kind.kind, next.renamedFrom ?? ''))
    }
    if (!next || !path.has(next)) continue
    // From where the way meets itself it goes round; what led there does not.
    const way = [...path]
    for (const one of way.slice(way.indexOf(next))) found.add(one)
  }
  return found
}
