/**
 * The run of `iamctl plan` and `iamctl drift`: from the files of an estate to a plan that is shown, saved or browsed.
 */

import type { Connection } from '../../client/connect.ts'
import { CommandError, type ExitCode, exitCodes } from '../../exit.ts'
import { checkPlanFile } from '../../load/plan-file.ts'
import { writeHere } from '../../write-below.ts'
import { isEmpty, type Plan } from '../plan.ts'
import { serializePlan } from '../saved.ts'
import {
  type EstateFiles,
  type FilesView,
  type PlanningFlags,
  planFiles,
  planningOptions,
  type Reading,
  refuseEmpty,
  refuseLacking,
  refuseProblems,
  refuseUnplanned,
  validFiles,
} from './estate.ts'

export interface PlanView extends FilesView {
  /** `isWhole` where every realm has its plan. */
  readonly plan: (plan: Plan, isWhole: boolean) => void
  readonly saved: (file: string) => void
  /** Says in the result itself why there is none. */
  readonly failed?: (error: unknown) => void
  /** Lets a person go through the plan and approve it; null where the output is not a terminal. */
  readonly browse?: (() => Promise<Browse>) | null
}

export type Browse = (plan: Plan) => Promise<'approved' | 'left' | 'interrupted'>

export interface PlanRequest extends Reading {
  readonly view: PlanView
  readonly flags: PlanningFlags & {
    readonly maxDeletions: number | undefined
    readonly out: string | undefined
    readonly interactive: boolean
    readonly detailedExitcode: boolean
  }
  readonly connect: () => Promise<Connection>
  /** Applies a plan that a person has approved. */
  readonly approved: (connection: Connection, plan: Plan, files: EstateFiles) => Promise<void>
  readonly note: (words: string) => void
}

const browserOf = ({ flags, view }: PlanRequest): (() => Promise<Browse>) | null => {
  if (!flags.interactive) return null
  if (view.browse) return view.browse
  throw new CommandError(
    exitCodes.error,
    '--interactive needs a terminal and the output format human',
    {
      hint: 'leave it out, or save the plan with --out',
    },
  )
}

/** Whether it was applied. */
const goThrough = async (
  request: PlanRequest,
  load: () => Promise<Browse>,
  connection: Connection,
  plan: Plan,
  files: EstateFiles,
): Promise<boolean> => {
  if (files.lacking.length > 0)
    throw new CommandError(exitCodes.denied, 'this credential may only plan', {
      hint: 'leave --interactive out; this client cannot apply the plan',
    })
  const browse = await load()
  const outcome = await browse(plan)
  if (outcome === 'approved') await request.approved(connection, plan, files)
  else request.note('nothing was changed')
  if (outcome === 'interrupted') process.exitCode = 130
  return outcome === 'approved'
}

const save = async ({ flags: { out }, view, quiet }: PlanRequest, plan: Plan): Promise<void> => {
  if (out === undefined) return
  await writeHere(out, serializePlan(plan), { overwrite: true, mode: 0o600 })
  if (!quiet) view.saved(out)
}

export const planEstate = async (request: PlanRequest): Promise<ExitCode | undefined> => {
  const { flags, view } = request
  const browser = browserOf(request)
  if (flags.out !== undefined) checkPlanFile(flags.out)
  const files = await validFiles(request, { mayLackSecrets: true })
  refuseEmpty(files)
  const options = planningOptions(flags, files, { history: false, dryRun: 'always' })
  const connection = await request.connect()
  await refuseLacking(view, connection, files)
  const planned = await planFiles({ ...flags, view }, connection.api, files, options)
  const { plan, unplanned } = planned
  if (unplanned.length > 0) {
    if (plan.realms.length > 0) view.plan(plan, false)
    refuseUnplanned(planned)
  }
  const load = isEmpty(plan) ? null : browser
  if (load === null) {
    view.plan(plan, true)
    refuseProblems(plan)
  }
  await save(request, plan)
  const isDone = load !== null && (await goThrough(request, load, connection, plan, files))
  return flags.detailedExitcode && !isEmpty(plan) && !isDone ? exitCodes.changes : undefined
}

export const driftEstate = async (
  request: Pick<PlanRequest, keyof Reading | 'connect' | 'view'> & {
    readonly flags: PlanningFlags
  },
): Promise<ExitCode | undefined> => {
  const { flags, view } = request
  const files = await validFiles(request, { mayLackSecrets: true })
  refuseEmpty(files)
  const options = planningOptions(flags, files, { history: true, dryRun: 'never' })
  const connection = await request.connect()
  await refuseLacking(view, connection, files)
  const planned = await planFiles({ view }, connection.api, files, options)
  const { plan, unplanned } = planned
  if (plan.realms.length > 0 || unplanned.length === 0) view.plan(plan, unplanned.length === 0)
  refuseUnplanned(planned)
  refuseProblems(plan)
  return isEmpty(plan) ? undefined : exitCodes.changes
}
