/** The outcome of a sync: the report for its caller, and the state that the next sync begins with. */

import type { SyncReport } from '#schemas/wire/directory-sync.ts'
import type { DirectorySyncRow } from '#server/storage/tables/directory-tables.ts'
import type { SyncResult } from './progress.ts'
import type { ReadUsers } from './read-users.ts'
import { mostListed, statusOf } from './report.ts'
import type { GroupOutcome } from './sync-groups.ts'
import type { Applied } from './users/apply-users.ts'
import type { UserPlan } from './users/plan-users.ts'

export interface SyncOutcome {
  readonly read: Pick<ReadUsers, 'mode' | 'noPeople' | 'mark' | 'markOf'>
  /** Of a dry run, with its changes: those that are written leave the plan. */
  readonly plan: UserPlan
  readonly applied: Applied
  readonly groups: GroupOutcome
}

const failuresOf = ({ read, plan, applied, groups }: SyncOutcome): SyncReport['failures'] => [
  ...read.noPeople.map(({ dn, problem }) => ({ name: dn, problem })),
  ...plan.failures,
  ...applied.failed.map(({ change, problem }) => ({ name: change.username, problem })),
  ...groups.failures,
]

const countsOf = (outcome: SyncOutcome) => ({
  ...outcome.applied.counts,
  failed: failuresOf(outcome).length,
})

export const reportOf = (outcome: SyncOutcome, dryRun: boolean): SyncReport => {
  const { read, plan, groups } = outcome
  const counts = countsOf(outcome)
  const listed = dryRun ? plan.changes.slice(0, mostListed) : []
  return {
    ignored: false,
    ...counts,
    synced: counts.added + counts.updated,
    status: statusOf(counts, dryRun),
    dryRun,
    mode: read.mode,
    groups: groups.counts,
    failures: failuresOf(outcome).slice(0, mostListed),
    changes: listed.map(({ op, username, fields }) => ({ op, username, fields })),
  }
}

/** Entries that failed are read again by the next sync. */
export const stateAfter = (
  outcome: SyncOutcome,
  before: DirectorySyncRow | undefined,
  now: number,
): Pick<DirectorySyncRow, 'mark' | 'mark_of' | 'full_at' | 'result'> => {
  const { read, plan, applied } = outcome
  const notApplied = new Set(applied.failed.map(({ change }) => change.subject))
  const result: SyncResult = { ...countsOf(outcome), mode: read.mode }
  return {
    mark: read.mark((subject) => plan.failed.has(subject) || notApplied.has(subject)),
    mark_of: read.markOf,
    full_at: read.mode === 'full' ? now : (before?.full_at ?? 0),
    result: JSON.stringify(result),
  }
}
