/** Stops a sync that would remove more users than a directory loses by itself. */

import type { Directory } from '../directory.ts'
import { SyncRefused } from './errors.ts'
import type { PlannedUser } from './plan-users.ts'

/** However large the directory is. */
const mostRemovals = 100
const mostNamed = 20

export const guardRemovals = (
  { maxRemovalPercent, alias }: Directory,
  changes: readonly PlannedUser[],
  linked: number,
  allowed: number | undefined,
): void => {
  const removed = changes.filter(({ op }) => op === 'disable' || op === 'delete')
  // One user of a few is a large share of them, and no accident.
  const share = Math.max(1, Math.floor((linked * maxRemovalPercent) / 100))
  const limit = allowed ?? Math.min(maxRemovalPercent === 0 ? 0 : share, mostRemovals)
  if (removed.length <= limit) return
  const disabled = removed.filter(({ op }) => op === 'disable').length
  throw new SyncRefused(
    'guard',
    `the sync of "${alias}" would disable ${disabled} and delete ${removed.length - disabled} of ${linked} users, and ${limit} are allowed; nothing was changed. If it is right, allow ${removed.length} removals`,
    removed.slice(0, mostNamed).map(({ username }) => username),
  )
}
