/** What a sync of a directory did, or would do. */

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

/** How far a sync is. */
export interface SyncProgress {
  readonly phase: 'read' | 'write'
  /** Entries read, or users written. */
  readonly done: number
  /** Null while entries are read: a directory does not tell how many it has. */
  readonly total: number | null
}

export interface SyncStanding {
  readonly running: boolean
  /** Null where none runs, or it has not told yet. */
  readonly progress: SyncProgress | null
  readonly finishedAt: number | null
  /** Of the last sync. */
  readonly outcome: string | null
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
