/** The sentences around a plan. Pipelines search for some of them: their form is an interface. */

import { namesOf } from '../../planning/names.ts'
import { hasChanges, isAdoption, type PlanSummary, type RealmPlan } from '../../planning/plan.ts'
import { harmless } from '../human/elements/text.ts'
import { counted } from './lines.ts'

/** Counts that are left out if they are 0. */
const andText = (figures: readonly (readonly [number, string])[]): string =>
  figures.flatMap(([count, what]) => (count > 0 ? [`, ${count} ${what}`] : [])).join('')

export const countsText = ({ add, change, destroy, adopt, along }: PlanSummary): string =>
  `${add} to add, ${change} to change, ${destroy} to destroy` +
  andText([
    [adopt, 'to adopt'],
    [along, 'to change along'],
  ])

/** The outcome of an apply. */
export const doneText = ({ add, change, destroy, adopt, along }: PlanSummary): string =>
  `${add} added, ${change} changed, ${destroy} destroyed` +
  andText([
    [adopt, 'adopted'],
    [along, 'changed along'],
  ])

/** The same in as few signs as a table has room for. */
export const signsText = ({ add, change, destroy, adopt, along }: PlanSummary): string =>
  `+${add} ~${change} -${destroy}` +
  andText([
    [adopt, 'adopted'],
    [along, 'along'],
  ])

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
export const appliedText = (done: PlanSummary): string =>
  `Apply complete! Documents: ${doneText(done)}.`
