/** The sentences around a plan. Pipelines search for some of them: their form is an interface. */

import { namesOf } from '../../planning/names.ts'
import { hasChanges, isAdoption, type PlanSummary, type RealmPlan } from '../../planning/plan.ts'
import { harmless } from '../human/elements/text.ts'
import { counted } from './lines.ts'

export const countsText = ({ add, change, destroy }: PlanSummary): string =>
  `${add} to add, ${change} to change, ${destroy} to destroy`

export const summaryText = (plan: RealmPlan): string => {
  if (hasChanges(plan)) return `Plan: ${countsText(plan.summary)}.`
  return plan.problems.length > 0
    ? `No plan: ${counted(plan.problems.length, 'error')}.`
    : 'No changes. The realm matches the files.'
}

/** What will be owned and is as the files say already. */
export const adoptionText = ({ changes, source }: RealmPlan): string[] => {
  const adopted = changes.filter(isAdoption)
  if (adopted.length === 0) return []
  const names = namesOf(adopted)
  return [
    harmless(`As the files say, and owned by ${JSON.stringify(source)} once applied: ${names}.`),
  ]
}

export const totalText = (realms: number, total: PlanSummary): string =>
  `Total for ${counted(realms, 'realm')}: ${countsText(total)}.`

/** After an apply, with what the server counted. */
export const appliedText = (done: {
  readonly created: number
  readonly updated: number
  readonly deleted: number
}): string =>
  `Apply complete! Documents: ${done.created} added, ${done.updated} changed, ${done.deleted} destroyed.`
