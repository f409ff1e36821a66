/** What a plan says of documents that name another key in `renamedFrom`. */

import type { Place } from '../../diagnostics.ts'
import type { ActualDocument } from '../actual.ts'
import { nameOf } from '../names.ts'
import type { PlanProblem, PlanWarning } from '../plan.ts'
import type { Matching } from './match.ts'

type PlaceOf = (pointer: string) => Place | undefined

interface Findings {
  readonly problems: readonly PlanProblem[]
  readonly warnings: readonly PlanWarning[]
}

export const renameFindings = ({ findings }: Matching, place: PlaceOf): Findings => {
  const problems: PlanProblem[] = []
  const warnings: PlanWarning[] = []
  for (const { desired, code, message } of findings) {
    const { kind, key, pointer } = desired
    const at = { kind: kind.kind, key }
    if (code === 'rename-source-missing') warnings.push({ code, message, documents: [at] })
    else
      problems.push({
        code,
        ...at,
        message,
        place: place(`${pointer}/renamedFrom`) ?? place(pointer) ?? null,
      })
  }
  return { problems, warnings }
}

/** Old keys that are there (again) beside the new ones. */
export const renameConflicts = (
  { undone }: Matching,
  doomed: ReadonlySet<ActualDocument>,
  place: PlaceOf,
): Findings => {
  const problems: PlanProblem[] = []
  const warnings: PlanWarning[] = []
  for (const { desired, document } of undone) {
    const { kind, key, renamedFrom, pointer } = desired
    const name = nameOf(kind.kind, key)
    const old = { kind: kind.kind, key: renamedFrom ?? '' }
    const both = `${name} exists, and so does ${nameOf(old.kind, old.key)}`
    if (doomed.has(document))
      problems.push({
        code: 'rename-conflict',
        kind: kind.kind,
        key,
        message: `${both}: it cannot be renamed to it; take \`renamedFrom\` away to delete the old one`,
        place: place(`${pointer}/renamedFrom`) ?? place(pointer) ?? null,
      })
    else
      warnings.push({
        code: 'rename-not-done',
        message: `${both}, which stays as it is`,
        documents: [old],
      })
  }
  return { problems, warnings }
}
