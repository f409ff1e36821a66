/** Shows what differs from the files, and who changed it. */

import { exitCodes } from '../../exit.ts'
import {
  planFiles,
  planningOptions,
  refuseEmpty,
  refuseLacking,
  refuseProblems,
  refuseUnplanned,
  validFiles,
} from '../../planning/estate/estate.ts'
import { isEmpty } from '../../planning/plan.ts'
import { withDocument } from '../../views/markdown/document.ts'
import type { Invocation } from '../invocation.ts'
import { withConnection } from './connection.ts'
import { showAnyPlan } from './plan.ts'

const driftAndShow = async (
  invocation: Invocation,
  paths: readonly string[],
  told: () => void,
): Promise<void> => {
  const files = await validFiles(invocation, paths, { mayLackSecrets: true })
  refuseEmpty(invocation, files)
  const options = planningOptions(invocation, files, { history: true, dryRun: 'never' })
  const planned = await withConnection(invocation, async (connection) => {
    await refuseLacking(invocation, connection, files)
    return planFiles(invocation, connection.api, files, options)
  })
  if (planned.plan.realms.length > 0 || planned.unplanned.length === 0)
    showAnyPlan(invocation, planned.plan)
  refuseUnplanned(planned)
  told()
  refuseProblems(planned.plan)
  if (!isEmpty(planned.plan)) process.exitCode = exitCodes.changes
}

export const drift = (invocation: Invocation, paths: readonly string[]): Promise<void> =>
  withDocument(invocation, 'drift', (told) => driftAndShow(invocation, paths, told))
