/** Shows what differs from the files, and who changed it. */

import { exitCodes } from '../../exit.ts'
import { isEmpty } from '../../plan/plan.ts'
import type { Invocation } from '../invocation.ts'
import { withConnection } from './connection.ts'
import {
  planFiles,
  planningOptions,
  refuseEmpty,
  refuseProblems,
  refuseUnplanned,
  validFiles,
} from './estate.ts'
import { showAnyPlan } from './plan.ts'

export const drift = async (invocation: Invocation, paths: readonly string[]): Promise<void> => {
  const files = await validFiles(invocation, paths)
  refuseEmpty(invocation, files)
  const options = planningOptions(invocation, files, { history: true, dryRun: 'never' })
  const planned = await withConnection(invocation, ({ api }) =>
    planFiles(invocation, api, files, options),
  )
  if (planned.plan.realms.length > 0 || planned.unplanned.length === 0)
    showAnyPlan(invocation, planned.plan)
  refuseUnplanned(planned)
  refuseProblems(planned.plan)
  if (!isEmpty(planned.plan)) process.exitCode = exitCodes.changes
}
