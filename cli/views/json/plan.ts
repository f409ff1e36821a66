/** A plan as JSON, for programs: the plan itself, whether there is anything to do, and the sum of its realms. */

import { isApplicable, isEmpty, type Plan, type PlanSummary, totalOf } from '../../planning/plan.ts'

export interface PlanOutput extends Plan {
  readonly hasChanges: boolean
  /** With any problem in it, an apply refuses. */
  readonly isApplicable: boolean
  readonly summary: PlanSummary
}

export const planOutput = (plan: Plan): PlanOutput => ({
  ...plan,
  hasChanges: !isEmpty(plan),
  isApplicable: isApplicable(plan),
  summary: totalOf(plan.realms),
})
