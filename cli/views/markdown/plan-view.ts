/** A plan as a comment on a pull request. There is always a document: a command that fails before it has a plan says why. */

import { failureOf } from '../../failure.ts'
import { carriedByError } from '../../planning/estate/estate.ts'
import type { PlanView } from '../../planning/estate/plan-estate.ts'
import { printOut } from '../streams.ts'
import { failureMarkdown } from './failure.ts'
import { planMarkdown } from './plan.ts'

export const planView = (command: string): PlanView => {
  let isTold = false
  return {
    ...carriedByError,
    plan: (plan, isWhole) => {
      printOut(planMarkdown(plan))
      isTold = isWhole
    },
    saved: () => undefined,
    failed: (error) => {
      if (!isTold) printOut(failureMarkdown(command, failureOf(error)))
    },
  }
}
