/** Owners and names that keep a plan from being applied. */

import { User } from '#schemas/kinds/users/user.ts'
import { foldName } from '#schemas/text/names.ts'
import { nameOf } from './names.ts'
import type { Change, PlanProblem } from './plan.ts'
import type { Left } from './warnings/left-out.ts'

export const ownershipProblems = (changes: readonly Change[]): PlanProblem[] =>
  changes.flatMap(({ kind, key, takenFrom, place }): PlanProblem[] =>
    takenFrom === null
      ? []
      : [
          {
            code: 'owned',
            kind,
            key,
            message: `${nameOf(kind, key)} belongs to the source ${JSON.stringify(takenFrom)}; take it out of one of the estates, or give --take-over`,
            place,
          },
        ],
  )

/** The server knows users by their names in one case: to make one beside the other would be refused. */
export const sameNames = (changes: readonly Change[], left: readonly Left[]): PlanProblem[] => {
  const made = changes.filter(({ action, kind }) => action === 'create' && kind === User.kind)
  if (made.length === 0) return []
  const others = new Map(
    left
      .filter(({ document }) => document.kind.kind === User.kind)
      .map(({ key }) => [foldName(key), key]),
  )
  return made.flatMap(({ kind, key, place }): PlanProblem[] => {
    const other = others.get(foldName(key))
    if (other === undefined) return []
    const message =
      `${nameOf(kind, key)} is the same name to the server as ${nameOf(kind, other)}, which exists; ` +
      `write \`renamedFrom: ${other}\` to rename that user`
    return [{ code: 'same-name', kind, key, message, place }]
  })
}
