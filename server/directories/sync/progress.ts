/** The progress of a sync, for callers on any node: written to the row of the sync, and rarely. */

import type { SyncProgress, SyncStanding } from '#schemas/wire/directory-sync.ts'
import type { DirectorySyncRow } from '#server/storage/tables/directory-tables.ts'
import { statusOf } from './report.ts'

const everyMs = 500

/** What the column `result` holds. */
export type SyncResult =
  | { readonly progress: SyncProgress }
  | { readonly refused: string }
  | {
      readonly added: number
      readonly updated: number
      readonly removed: number
      readonly failed: number
      readonly mode: 'full' | 'changes'
    }

/** Best effort: a sync does not wait for it. The first report comes after a while, so that a short sync has none. */
export const createProgress = (write: (progress: SyncProgress) => Promise<unknown>) => {
  let last = performance.now()
  let writing = false
  return (progress: SyncProgress): void => {
    const now = performance.now()
    if (writing || now - last < everyMs) return
    last = now
    writing = true
    write(progress)
      .catch(() => undefined)
      .finally(() => {
        writing = false
      })
  }
}

const outcomeOf = (result: SyncResult | null): string | null => {
  if (result === null || 'progress' in result) return null
  return 'refused' in result ? `failed: ${result.refused}` : statusOf(result, false)
}

export const standingOf = (row: DirectorySyncRow | undefined, now: number): SyncStanding => {
  const result = row?.result ? (JSON.parse(row.result) as SyncResult) : null
  const running = row !== undefined && row.lease !== null && row.lease_until > now
  return {
    running,
    progress: running && result && 'progress' in result ? result.progress : null,
    finishedAt: row && row.finished_at > 0 ? row.finished_at : null,
    outcome: outcomeOf(result),
  }
}
