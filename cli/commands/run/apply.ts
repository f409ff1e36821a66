/** Makes realms what the files say: shows the plan, asks, and sends one changeset a realm. */

import { readFile } from 'node:fs/promises'
import manifest from '../../../package.json' with { type: 'json' }
import { applyPlan, type RealmResult } from '../../apply/apply-plan.ts'
import { makeSecrets } from '../../apply/made-secrets.ts'
import { provenanceOf } from '../../apply/provenance.ts'
import { checkSaved } from '../../apply/saved-check.ts'
import { savedSecrets } from '../../apply/saved-secrets.ts'
import { settleUnknown } from '../../apply/saved-unknown.ts'
import type { Api } from '../../client/api.ts'
import { hasErrors } from '../../diagnostics.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { failureOf } from '../../failure.ts'
import { findEstate, sourceNameOf } from '../../load/estate.ts'
import { estateFileName } from '../../load/files.ts'
import type { ChangesetOptions, SecretOf } from '../../planning/changeset.ts'
import {
  type EstateFiles,
  failTogether,
  fileOptions,
  planFiles,
  planningOptions,
  refusedByServer,
  refuseEmpty,
  refuseProblems,
  type Unplanned,
  validFiles,
} from '../../planning/estate/estate.ts'
import { guardsOf, isDestructive, refusals } from '../../planning/guards.ts'
import { hasWork, isEmpty, type Plan } from '../../planning/plan.ts'
import { parsePlan } from '../../planning/saved.ts'
import { withoutUnkept } from '../../planning/warnings/unkept-secrets.ts'
import { approve } from '../../views/human/approval.ts'
import { note } from '../../views/human/elements/note.ts'
import { runSteps } from '../../views/human/elements/progress.ts'
import { showApplied, showPlan } from '../../views/human/show-plan.ts'
import { printJsonLine } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'
import { withConnection } from './connection.ts'

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

const fromFiles = async (invocation: Invocation, api: Api, files: EstateFiles): Promise<Ready> => {
  // What would be refused is refused before anybody is asked.
  const dryRun = files.isUnchecked ? 'always' : 'destructive'
  const options = planningOptions(invocation, files, { history: false, dryRun })
  const { plan, unplanned } = await planFiles(invocation, api, files, options)
  return { ...readyFrom(plan, files), unplanned }
}

const sendingOptions = async (
  { flags, env }: Invocation,
  secretOf: SecretOf,
): Promise<ChangesetOptions> => {
  const { message, allowUnrelated, takeOver } = flags
  return {
    ...(typeof message === 'string' ? { message } : {}),
    provenance: await provenanceOf(process.cwd(), env, manifest.version),
    allowUnrelated: allowUnrelated === true,
    takeOver: takeOver === true,
    secretOf,
  }
}

const fromSaved = async (invocation: Invocation, api: Api, file: string): Promise<Ready> => {
  const plan = parsePlan(await readFile(file, 'utf8'))
  if (plan.server !== api.server)
    throw new CommandError(exitCodes.error, `the plan was made for ${plan.server}`, {
      hint: `this is ${api.server}: plan again, or name the other one with --server`,
    })
  const { env, flags } = invocation
  const { estate, diagnostics } = await findEstate(fileOptions(invocation, []))
  // An estate that cannot be read may have guards.
  if (hasErrors(diagnostics))
    throw new CommandError(exitCodes.invalid, `${estateFileName} is not valid`, {
      hint: 'nothing was sent, because its guards are unknown; run `iamctl validate`',
      diagnostics,
    })
  const secretOf = await savedSecrets(plan, {
    cwd: process.cwd(),
    estate,
    env,
    allowExec: flags['allowExec'] === true,
  })
  const source = sourceNameOf(textOf(invocation, 'source', 'IAMCTL_SOURCE'), estate)
  const options = { ...(await sendingOptions(invocation, secretOf)), source }
  const checked = await checkSaved(api, await settleUnknown(api, plan, secretOf), options)
  // The file says under which limit it was made, and whoever can edit it could raise that.
  const { maxDeletions } = guardsOf(flags['maxDeletions'], estate)
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

const agree = async (invocation: Invocation, { plan }: Ready): Promise<void> => {
  if (invocation.flags['autoApprove'] === true) return
  await approve(
    'Do you want to perform these actions?',
    plan.realms.filter(isDestructive).map(({ realm }) => realm),
  )
}

const sendPlan = async (invocation: Invocation, api: Api, ready: Ready): Promise<RealmResult[]> => {
  const options = await sendingOptions(invocation, ready.secretOf)
  const { plan } = ready
  const changing = plan.realms.filter(hasWork)
  return runSteps(
    changing.map((realm) => ({
      title: `Applying realm ${realm.realm}`,
      work: async () => {
        const [result] = await applyPlan(api, { ...plan, realms: [realm] }, options)
        if (!result) throw new Error(`realm ${realm.realm} has no result`)
        return result.outcome === 'failed'
          ? { ...result, error: refusedByServer(invocation, result.error, realm, ready.files) }
          : result
      },
      done: ({ outcome, realm: name }) =>
        outcome === 'failed' ? `Realm ${name} is not applied` : `Realm ${name} is applied`,
    })),
    invocation,
  )
}

/** Of a realm that was refused, so that nothing of it happened; of one that did not answer nobody knows. */
const isRefused = (result: RealmResult): boolean =>
  result.outcome === 'failed' && failureOf(result.error).exitCode !== exitCodes.unreachable

const send = async (invocation: Invocation, api: Api, ready: Ready): Promise<RealmResult[]> => {
  const file = textOf(invocation, 'secretsOut')
  if (file === undefined) return sendPlan(invocation, api, ready)
  const made = makeSecrets(ready.plan, ready.secretOf, file)
  const results = await sendPlan(invocation, api, { ...ready, ...made })
  made.forget(results.filter(isRefused).map(({ realm }) => realm))
  if (made.count > 0) note(invocation, `generated secrets: ${file}`)
  return results
}

/** Everything is told, whatever failed; the first failure gives the exit code. */
const report = (invocation: Invocation, results: readonly RealmResult[]): void => {
  if (invocation.output === 'json')
    for (const result of results)
      printJsonLine(
        result.outcome === 'failed'
          ? { realm: result.realm, outcome: 'failed', error: failureOf(result.error) }
          : result,
      )
  else showApplied(results)
  failTogether(
    results.filter((result) => result.outcome === 'failed'),
    { total: results.length, others: 'the others are applied' },
  )
}

/** Of a plan that somebody has looked at and approved: only what destroys is asked about once more. */
export const applyApproved = async (
  invocation: Invocation,
  api: Api,
  ready: Ready,
): Promise<void> => {
  refuseGuarded(ready)
  if (ready.plan.realms.some(isDestructive)) await agree(invocation, ready)
  report(invocation, await send(invocation, api, ready))
}

export const apply = async (invocation: Invocation, paths: readonly string[]): Promise<void> => {
  const { plan: saved } = invocation.flags
  if (typeof saved === 'string' && paths.length > 0)
    throw new CommandError(exitCodes.error, 'a saved plan is applied without files', {
      hint: 'give either --plan or paths',
    })
  const files = typeof saved === 'string' ? null : await validFiles(invocation, paths)
  if (files) refuseEmpty(invocation, files)
  await withConnection(invocation, async ({ api }) => {
    const made = files
      ? await fromFiles(invocation, api, files)
      : await fromSaved(invocation, api, String(saved))
    const keeps = textOf(invocation, 'secretsOut') !== undefined
    const ready = keeps ? { ...made, plan: withoutUnkept(made.plan) } : made
    const { plan } = ready
    const unplanned = ready.unplanned.map((one) => ({ ...one, outcome: 'failed' as const }))
    const isShown = plan.realms.length > 0 || unplanned.length === 0
    if (invocation.output === 'human' && isShown) showPlan(plan)
    refuseProblems(plan)
    refuseGuarded(ready)
    if (!plan.realms.some(hasWork)) {
      if (invocation.output === 'json')
        for (const { realm, baseRevision } of plan.realms)
          printJsonLine({ realm, outcome: 'unchanged', revision: baseRevision })
      return report(invocation, unplanned)
    }
    // To be owned is no change that anybody could object to.
    if (!isEmpty(plan)) await agree(invocation, ready)
    report(invocation, [...unplanned, ...(await send(invocation, api, ready))])
  })
}
