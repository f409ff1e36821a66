/** Makes realms what the files say: shows the plan, asks, and sends one changeset a realm. */

import manifest from '../../package.json' with { type: 'json' }
import type { Api } from '../client/api.ts'
import { hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { failureOf } from '../failure.ts'
import { findEstate, sourceNameOf } from '../load/estate.ts'
import { estateFileName } from '../load/files.ts'
import { readNamed } from '../named-file.ts'
import type { ChangesetOptions, SecretOf } from '../planning/changeset.ts'
import {
  type EstateFiles,
  type FilesView,
  failTogether,
  type PlanningFlags,
  planFiles,
  planningOptions,
  type Reading,
  refusedByServer,
  refuseEmpty,
  refuseProblems,
  type Unplanned,
  validFiles,
} from '../planning/estate/estate.ts'
import { guardsOf, isDestructive, refusals } from '../planning/guards.ts'
import { hasWork, isEmpty, type Plan } from '../planning/plan.ts'
import { parsePlan } from '../planning/saved.ts'
import { withoutUnkept } from '../planning/warnings/unkept-secrets.ts'
import { note } from '../views/human/elements/note.ts'
import { runSteps } from '../views/human/elements/progress.ts'
import { approve } from '../views/human/estate/approval.ts'
import { applyPlan, type RealmResult } from './apply-plan.ts'
import { makeSecrets } from './made-secrets.ts'
import { provenanceOf } from './provenance.ts'
import { checkSaved } from './saved-check.ts'
import { savedSecrets } from './saved-secrets.ts'
import { settleUnknown } from './saved-unknown.ts'

export interface ApplyView extends FilesView {
  /** Before the confirmation. */
  readonly plan: (plan: Plan) => void
  /** Nothing is to be done. */
  readonly unchanged: (plan: Plan) => void
  readonly results: (results: readonly RealmResult[]) => void
}

export interface ApplyFlags extends PlanningFlags {
  readonly maxDeletions: number | undefined
  readonly plan?: string | undefined
  readonly autoApprove?: boolean
  readonly message?: string | undefined
  readonly secretsOut?: string | undefined
  readonly allowEmpty?: boolean
  readonly allowUnrelated?: boolean
}

export interface ApplyRequest extends Reading {
  readonly flags: ApplyFlags
  readonly view: ApplyView
}

/** What is to be applied, with the secrets that it needs. */
export interface Ready {
  readonly plan: Plan
  readonly secretOf: SecretOf
  /** Null of a saved plan. */
  readonly files: EstateFiles | null
  /** Realms that the server refuses to plan: they fail, and the others are applied. */
  readonly unplanned: readonly Unplanned[]
}

export const readyFrom = (plan: Plan, files: EstateFiles): Ready => ({
  plan,
  secretOf: files.secretOf,
  files,
  unplanned: [],
})

const fromFiles = async (
  { flags, view }: ApplyRequest,
  api: Api,
  files: EstateFiles,
): Promise<Ready> => {
  // Guards refuse the plan before the user is asked for approval; an interactive approval needs the warnings of the server.
  const dryRun = files.isUnchecked || !flags.autoApprove ? 'always' : 'destructive'
  const options = planningOptions(flags, files, { history: false, dryRun })
  const { plan, unplanned } = await planFiles({ ...flags, view }, api, files, options)
  return { ...readyFrom(plan, files), unplanned }
}

const sendingOptions = async (
  { flags, files: { env, cwd } }: ApplyRequest,
  secretOf: SecretOf,
): Promise<ChangesetOptions> => {
  const { message, allowUnrelated = false, takeOver = false } = flags
  return {
    ...(message === undefined ? {} : { message }),
    provenance: await provenanceOf(cwd, env, manifest.version),
    allowUnrelated,
    takeOver,
    secretOf,
  }
}

const fromSaved = async (request: ApplyRequest, api: Api, file: string): Promise<Ready> => {
  const plan = parsePlan((await readNamed(file)).toString('utf8'), file)
  if (plan.server !== api.server)
    throw new CommandError(exitCodes.error, `the plan was made for ${plan.server}`, {
      hint: `this is ${api.server}: plan again, or name the other one with --server`,
    })
  const { flags, allowExec, files } = request
  const { env, cwd } = files
  const { estate, diagnostics } = await findEstate(files)
  // An estate that cannot be read may have guards.
  if (hasErrors(diagnostics))
    throw new CommandError(exitCodes.invalid, `${estateFileName} is not valid`, {
      hint: 'nothing was sent, because its guards are unknown; run `iamctl validate`',
      diagnostics,
    })
  const secretOf = await savedSecrets(plan, {
    cwd,
    estate,
    env,
    allowExec,
  })
  const source = sourceNameOf(flags.source, estate)
  const options = { ...(await sendingOptions(request, secretOf)), source }
  const checked = await checkSaved(api, await settleUnknown(api, plan, secretOf), options)
  // The file contains its limit, which an edit could raise.
  const { maxDeletions } = guardsOf(flags.maxDeletions, estate)
  const guards = { maxDeletions: Math.min(plan.guards.maxDeletions, maxDeletions) }
  return { plan: { ...checked, guards }, secretOf, files: null, unplanned: [] }
}

const refuseGuarded = ({ plan }: Ready): void => {
  const [first, ...others] = refusals(plan, plan.guards)
  if (first !== undefined)
    throw new CommandError(exitCodes.guarded, 'a guard refuses the plan; nothing was changed', {
      hint: [first, ...others].join('\n  '),
    })
}

const agree = async ({ flags }: ApplyRequest, { plan }: Ready): Promise<void> => {
  if (flags.autoApprove) return
  await approve(
    'Do you want to perform these actions?',
    plan.realms.filter(isDestructive).map(({ realm }) => realm),
  )
}

const sendPlan = async (request: ApplyRequest, api: Api, ready: Ready): Promise<RealmResult[]> => {
  const options = await sendingOptions(request, ready.secretOf)
  const { plan } = ready
  const changing = plan.realms.filter(hasWork)
  return runSteps(
    changing.map((realm) => ({
      title: `Applying realm ${realm.realm}`,
      work: async () => {
        const [result] = await applyPlan(api, { ...plan, realms: [realm] }, options)
        if (!result) throw new Error(`realm ${realm.realm} has no result`)
        return result.outcome === 'failed'
          ? { ...result, error: refusedByServer(request.view, result.error, realm, ready.files) }
          : result
      },
      done: ({ outcome, realm: name }) =>
        outcome === 'failed' ? `Realm ${name} is not applied` : `Realm ${name} is applied`,
    })),
    request,
  )
}

/** Whether a realm was refused, so that nothing was changed; without a response the outcome is unknown. */
const isRefused = (result: RealmResult): boolean =>
  result.outcome === 'failed' && failureOf(result.error).exitCode !== exitCodes.unreachable

const send = async (request: ApplyRequest, api: Api, ready: Ready): Promise<RealmResult[]> => {
  const { secretsOut: file } = request.flags
  if (file === undefined) return sendPlan(request, api, ready)
  const made = makeSecrets(ready.plan, ready.secretOf, file)
  const results = await sendPlan(request, api, { ...ready, ...made })
  made.forget(results.filter(isRefused).map(({ realm }) => realm))
  if (made.count > 0) note(request, `generated secrets: ${file}`)
  return results
}

/** Reports every realm, whichever failed; the first failure gives the exit code. */
const report = ({ view }: ApplyRequest, results: readonly RealmResult[]): void => {
  view.results(results)
  failTogether(
    results.filter((result) => result.outcome === 'failed'),
    { total: results.length, others: 'the others are applied' },
  )
}

/** For an approved plan: only deletions need another confirmation. */
export const applyApproved = async (
  request: ApplyRequest,
  api: Api,
  ready: Ready,
): Promise<void> => {
  refuseGuarded(ready)
  if (ready.plan.realms.some(isDestructive)) await agree(request, ready)
  report(request, await send(request, api, ready))
}

/** The server is asked only where the files are valid. */
export const applyEstate = async (
  request: ApplyRequest,
  connect: () => Promise<{ readonly api: Api }>,
): Promise<void> => {
  const { flags, view } = request
  const { plan: saved } = flags
  if (saved !== undefined && request.files.paths.length > 0)
    throw new CommandError(exitCodes.error, 'a saved plan is applied without files', {
      hint: 'give either --plan or paths',
    })
  if (flags.secretsOut === '-')
    throw new CommandError(exitCodes.error, '--secrets-out - is no file: secrets are not printed', {
      hint: 'nothing was planned; name a file, such as new-secrets.json',
    })
  const files = saved === undefined ? await validFiles(request) : null
  if (files) refuseEmpty(files, flags.allowEmpty)
  const { api } = await connect()
  const made = files
    ? await fromFiles(request, api, files)
    : await fromSaved(request, api, String(saved))
  const keeps = flags.secretsOut !== undefined
  const ready = keeps ? { ...made, plan: withoutUnkept(made.plan) } : made
  const { plan } = ready
  const unplanned = ready.unplanned.map((one) => ({ ...one, outcome: 'failed' as const }))
  if (plan.realms.length > 0 || unplanned.length === 0) view.plan(plan)
  refuseProblems(plan)
  refuseGuarded(ready)
  if (!plan.realms.some(hasWork)) {
    view.unchanged(plan)
    return report(request, unplanned)
  }
  // A change of the owner alone needs no approval.
  if (!isEmpty(plan)) await agree(request, ready)
  report(request, [...unplanned, ...(await send(request, api, ready))])
}
