/** What a sync did, or would do. */

export type UserOp = 'add' | 'update' | 'enable' | 'disable' | 'delete'

export interface FieldChange {
  readonly field: string
  readonly before: string | boolean | null
  readonly after: string | boolean | null
}

export interface UserChange {
  readonly op: UserOp
  readonly username: string
  readonly fields: readonly FieldChange[]
}

export interface SyncFailure {
  /** The username, the name of a group, or the DN of an entry that has neither. */
  readonly name: string
  readonly problem: string
}

export interface GroupCounts {
  readonly added: number
  readonly updated: number
  readonly removed: number
  readonly joined: number
  readonly left: number
}

export interface SyncReport {
  /** Nothing was done because another sync of the directory runs. */
  readonly ignored: boolean
  readonly added: number
  readonly updated: number
  readonly removed: number
  readonly failed: number
  readonly synced: number
  readonly status: string
  readonly dryRun: boolean
  /** Whether all entries were read, or those that changed. */
  readonly mode: 'full' | 'changes'
  readonly groups: GroupCounts
  readonly failures: readonly SyncFailure[]
  /** Of a dry run, the first of them. */
  readonly changes: readonly UserChange[]
}

export const noGroups: GroupCounts = { added: 0, updated: 0, removed: 0, joined: 0, left: 0 }

/** Most changes and failures that a report lists; the counts are of all. */
export const mostListed = 1000

const isRemoval = ({ op }: UserChange): boolean => op === 'disable' || op === 'delete'

/** Counts of users by what was done to them. */
export const countsOf = (changes: readonly UserChange[]) => ({
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
