/** Shows what an apply would do, saves it, and lets a person go through it and approve. */

import type { Api } from '../../client/api.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import {
  type EstateFiles,
  planFiles,
  planningOptions,
  refuseEmpty,
  refuseLacking,
  refuseProblems,
  refuseUnplanned,
  validFiles,
} from '../../planning/estate/estate.ts'
import { isEmpty, type Plan } from '../../planning/plan.ts'
import { serializePlan } from '../../planning/saved.ts'
import { hasScreen } from '../../views/human/dev/screen.ts'
import { note } from '../../views/human/elements/note.ts'
import { showPlan, showSaved } from '../../views/human/show-plan.ts'
import { printJson } from '../../views/json/json.ts'
import { planOutput } from '../../views/json/plan.ts'
import { withDocument } from '../../views/markdown/document.ts'
import { planMarkdown } from '../../views/markdown/plan.ts'
import { printOut } from '../../views/streams.ts'
import { writeHere } from '../../write-below.ts'
import type { Invocation } from '../invocation.ts'
import { applyApproved, readyFrom } from './apply.ts'
import { withConnection } from './connection.ts'

export const showAnyPlan = ({ output }: Invocation, plan: Plan): void => {
  if (output === 'json') printJson(planOutput(plan))
  else if (output === 'markdown') printOut(planMarkdown(plan))
  else showPlan(plan)
}

const save = async (invocation: Invocation, planned: Plan): Promise<void> => {
  const { out } = invocation.flags
  if (typeof out !== 'string') return
  await writeHere(out, serializePlan(planned), { overwrite: true, mode: 0o600 })
  if (invocation.output === 'human' && !invocation.quiet) showSaved(out)
}

const refuseWithoutScreen = ({ output }: Invocation): void => {
  if (output === 'human' && hasScreen()) return
  throw new CommandError(
    exitCodes.error,
    '--interactive needs a terminal and the output format human',
    {
      hint: 'leave it out, or save the plan with --out',
    },
  )
}

/** Whether it was applied. */
const browse = async (
  invocation: Invocation,
  api: Api,
  planned: Plan,
  files: EstateFiles,
): Promise<boolean> => {
  if (files.lacking.length > 0)
    throw new CommandError(exitCodes.denied, 'this credential may only plan', {
      hint: 'leave --interactive out; this client cannot apply the plan',
    })
  const { browsePlan } = await import('../../views/human/browse/browser.tsx')
  const outcome = await browsePlan(planned)
  if (outcome === 'approved') await applyApproved(invocation, api, readyFrom(planned, files))
  else note(invocation, 'nothing was changed')
  if (outcome === 'interrupted') process.exitCode = 130
  return outcome === 'approved'
}

const planAndShow = async (
  invocation: Invocation,
  paths: readonly string[],
  told: () => void,
): Promise<void> => {
  const isInteractive = invocation.flags['interactive'] === true
  if (isInteractive) refuseWithoutScreen(invocation)
  const files = await validFiles(invocation, paths, { mayLackSecrets: true })
  refuseEmpty(invocation, files)
  const options = planningOptions(invocation, files, { history: false, dryRun: 'always' })
  await withConnection(invocation, async (connection) => {
    const { api } = connection
    await refuseLacking(invocation, connection, files)
    const both = await planFiles(invocation, api, files, options)
    const { plan: planned } = both
    if (both.unplanned.length > 0) {
      if (planned.realms.length > 0) showAnyPlan(invocation, planned)
      refuseUnplanned(both)
    }
    const isBrowsed = isInteractive && !isEmpty(planned)
    if (!isBrowsed) {
      showAnyPlan(invocation, planned)
      told()
      refuseProblems(planned)
    }
    await save(invocation, planned)
    const isDone = isBrowsed && (await browse(invocation, api, planned, files))
    if (invocation.flags['detailedExitcode'] === true && !isEmpty(planned) && !isDone)
      process.exitCode ??= exitCodes.changes
  })
}

export const plan = (invocation: Invocation, paths: readonly string[]): Promise<void> =>
  withDocument(invocation, 'plan', (told) => planAndShow(invocation, paths, told))
