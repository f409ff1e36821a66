/** The rows of users and groups after they were sent or refused, the waits between two tries, and the end of a run that fails. */

import type { Statement } from '#server/storage/contract.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { ScimRefusal } from './protocol/refusal.ts'
import type { ResourceChange, Resources } from './state/resources.ts'

/** So many faults, or refusals, in a row are a matter of the target, such as a wrong address, not of the users. */
const mostFaults = 3
const mostRefusals = 20
const minute = 60_000
const resourceWaits = [minute, 5 * minute, 30 * minute, 2 * 60 * minute, 12 * 60 * minute]
/** Of a resource during whose request the target was lost: the resource may be the reason. */
const lostMs = minute
const longestError = 300

const wordsOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, longestError).toWellFormed()

/** The row after its user, or group, was sent. */
export const settled = (
  resources: Resources,
  row: ScimResourceRow,
  change: ResourceChange | 'forget',
): Statement =>
  change === 'forget'
    ? resources.forget(row)
    : resources.change(row, { ...change, done: row.changed, failures: 0, error: null })

/** How long a user or group waits that has failed so often before. */
export const waitAfter = (failures: number): number =>
  resourceWaits[failures] ?? resourceWaits.at(-1) ?? 0

/** The row after a failure, which is tried again later. */
export const failed = (
  resources: Resources,
  row: ScimResourceRow,
  error: unknown,
  now: number,
): Statement => {
  const isOfTarget = error instanceof ScimRefusal && error.isOfTarget
  const wait = isOfTarget ? lostMs : waitAfter(row.failures)
  return resources.change(row, {
    due_at: now + wait,
    failures: row.failures + (isOfTarget ? 0 : 1),
    error: wordsOf(error),
  })
}

/** Counts failures in a row; the one that is too many, and one of the target itself, ends the run. */
export const createFaults = () => {
  let faults = 0
  let refusals = 0
  return {
    none: (): void => {
      faults = 0
      refusals = 0
    },
    isTooMany: (error: unknown): boolean => {
      if (!(error instanceof ScimRefusal)) return false
      faults = error.isFault ? faults + 1 : 0
      refusals += 1
      return error.isOfTarget || faults >= mostFaults || refusals >= mostRefusals
    },
  }
}
