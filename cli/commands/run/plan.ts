/** Shows what an apply would do, and saves it. */

import { writeFile } from 'node:fs/promises'
import { exitCodes } from '../../exit.ts'
import { isEmpty, type Plan } from '../../plan/plan.ts'
import { serializePlan } from '../../plan/saved.ts'
import { showPlan, showSaved } from '../../views/human/show-plan.ts'
import { printJson } from '../../views/json/json.ts'
import { planOutput } from '../../views/json/plan.ts'
import { planMarkdown } from '../../views/markdown/plan.ts'
import { printOut } from '../../views/streams.ts'
import type { Invocation } from '../invocation.ts'
import { withConnection } from './connection.ts'
import { planFiles, planningOptions, refuseEmpty, refuseProblems, validFiles } from './estate.ts'

export const showAnyPlan = ({ output }: Invocation, plan: Plan): void => {
  if (output === 'json') printJson(planOutput(plan))
  else if (output === 'markdown') printOut(planMarkdown(plan))
  else showPlan(plan)
}

export const plan = async (invocation: Invocation, paths: readonly string[]): Promise<void> => {
  const files = await validFiles(invocation, paths)
  refuseEmpty(invocation, files)
  const { out, detailedExitcode } = invocation.flags
  const options = planningOptions(invocation, files, { history: false, dryRun: 'always' })
  const planned = await withConnection(invocation, ({ api }) =>
    planFiles(invocation, api, files, options),
  )
  showAnyPlan(invocation, planned)
  refuseProblems(planned)
  if (typeof out === 'string') {
    await writeFile(out, serializePlan(planned), { mode: 0o600 })
    if (invocation.output === 'human' && !invocation.quiet) showSaved(out)
  }
  if (detailedExitcode === true && !isEmpty(planned)) process.exitCode = exitCodes.changes
}
