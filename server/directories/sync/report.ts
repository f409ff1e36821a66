/** The counts of a sync, or of its dry run. */

import type { GroupCounts, SyncReport, UserChange } from '#schemas/wire/directory-sync.ts'

export const noGroups: GroupCounts = { added: 0, updated: 0, removed: 0, joined: 0, left: 0 }

/** Most changes and failures that a report lists; the counts are of all. */
export const mostListed = 1000

const isRemoval = ({ op }: UserChange): boolean => op === 'disable' || op === 'delete'

/** Counts of users by what was done to them. */
export type UserCounts = Pick<SyncReport, 'added' | 'updated' | 'removed'>

export const noUsers: UserCounts = { added: 0, updated: 0, removed: 0 }

export const sumOf = (a: UserCounts, b: UserCounts): UserCounts => ({
  added: a.added + b.added,
  updated: a.updated + b.updated,
  removed: a.removed + b.removed,
})

export const countsOf = (changes: readonly UserChange[]): UserCounts => ({
  added: changes.filter(({ op }) => op === 'add').length,
  updated: changes.filter(({ op }) => op === 'update' || op === 'enable').length,
  removed: changes.filter(isRemoval).length,
})

export const statusOf = (
  counts: Pick<SyncReport, 'added' | 'updated' | 'removed' | 'failed'>,
  dryRun: boolean,
): string => {
  const { added, updated, removed, failed } = counts
  const text = `${added} added, ${updated} updated, ${removed} removed, ${failed} failed`
  return dryRun ? `dry run: ${text}` : text
}
