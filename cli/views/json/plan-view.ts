/** Planning and applying for programs: the plan as one value, the results as a line a realm. */

import type { ApplyView } from '../../apply/apply-estate.ts'
import { failureOf } from '../../failure.ts'
import { carriedByError } from '../../planning/estate/estate.ts'
import type { PlanView } from '../../planning/estate/plan-estate.ts'
import { failureValue, printJson, printJsonLine } from './json.ts'
import { planOutput } from './plan.ts'

export const planView: PlanView = {
  ...carriedByError,
  plan: (plan) => printJson(planOutput(plan)),
  saved: () => undefined,
}

export const applyView: ApplyView = {
  ...carriedByError,
  plan: () => undefined,
  unchanged: ({ realms }) => {
    for (const { realm, baseRevision } of realms)
      printJsonLine({ realm, outcome: 'unchanged', revision: baseRevision })
  },
  results: (results) => {
    for (const result of results)
      printJsonLine(
        result.outcome === 'failed'
          ? { realm: result.realm, outcome: 'failed', error: failureValue(failureOf(result.error)) }
          : result,
      )
  },
}
