/** The files of a command, read and checked and with their secrets at hand, and the plan that they lead to. */

import manifest from '../../../package.json' with { type: 'json' }
import type { Api } from '../../client/api.ts'
import type { Connection } from '../../client/connect.ts'
import { ProblemError } from '../../client/http/errors.ts'
import { type Invocation, textOf } from '../../commands/invocation.ts'
import { type Diagnostic, hasErrors } from '../../diagnostics.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { failureOf } from '../../failure.ts'
import { sourceNameOf } from '../../load/estate.ts'
import { unsetCode } from '../../load/secrets/secrets.ts'
import { showDiagnostics, summaryOf } from '../../views/human/diagnostics.ts'
import { guardsOf } from '../guards.ts'
import { type Plan, type Prune, problemExitCodes, type RealmPlan } from '../plan.ts'
import { type PlanningOptions, planWanted } from '../planning.ts'
import { parseTarget } from '../target.ts'
import {
  type FileOptions,
  type ReadFiles,
  readFiles,
  type WantedRealms,
  wantedRealms,
} from './files.ts'
import { serverDiagnostics } from './server-problems.ts'
import type { Wanted } from './wanted.ts'

export interface EstateFiles extends Omit<ReadFiles, 'diagnostics'>, WantedRealms {
  /** Some references lead to documents that only the server knows. */
  readonly isUnchecked: boolean
  /** Secrets whose variables are not set: only who may only plan does without them. */
  readonly lacking: readonly Diagnostic[]
}

/** Of an option that may be repeated. */
export const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])

export const fileOptions = (invocation: Invocation, paths: readonly string[]): FileOptions => ({
  paths,
  overlays: listOf(invocation.flags['overlay']),
  vars: listOf(invocation.flags['var']),
  varFiles: listOf(invocation.flags['varFile']),
  cwd: process.cwd(),
  config: textOf(invocation, 'config', 'IAMCTL_CONFIG'),
  env: invocation.env,
  serverChecks: true,
})

const wrongFiles = {
  message: 'the files are not valid',
  hint: 'nothing was sent; `iamctl validate` checks them without a server',
}

export const refuseInvalid = (
  invocation: Invocation,
  { loaded }: Pick<ReadFiles, 'loaded'>,
  diagnostics: readonly Diagnostic[],
  { message, hint } = wrongFiles,
): never => {
  // A program, and a comment on a pull request, has them from the error itself.
  const human = invocation.output !== 'json' && invocation.output !== 'markdown'
  if (human) showDiagnostics({ diagnostics, textOf: loaded.textOf }, 'stderr')
  throw new CommandError(exitCodes.invalid, `${message}: ${summaryOf(diagnostics)}`, {
    hint,
    ...(human ? {} : { diagnostics }),
  })
}

/**
 * Ends the command with exit code 3 unless everything is valid; warnings are said and do not end it. A command that plans may go
 * on without variables that are not set, until it is known who the caller is: see `refuseLacking`.
 */
export const validFiles = async (
  invocation: Invocation,
  paths: readonly string[],
  { mayLackSecrets = false } = {},
): Promise<EstateFiles> => {
  const files = await readFiles(fileOptions(invocation, paths))
  if (hasErrors(files.diagnostics)) refuseInvalid(invocation, files, files.diagnostics)
  const isUnchecked = files.diagnostics.some(({ code }) => code === 'unchecked-reference')
  const wanted = await wantedRealms(files, {
    env: invocation.env,
    allowExec: invocation.flags['allowExec'] === true,
  })
  const mayGoOn = mayLackSecrets && wanted.diagnostics.every(({ code }) => code === unsetCode)
  if (hasErrors(wanted.diagnostics) && !mayGoOn)
    refuseInvalid(invocation, files, wanted.diagnostics)
  if (!invocation.quiet && invocation.output === 'human')
    showDiagnostics({ ...files, textOf: files.loaded.textOf }, 'stderr')
  return { ...files, ...wanted, isUnchecked, lacking: wanted.diagnostics }
}

/** The first realm that the caller knows tells; a server that does not say is taken as one that allows all. */
const mayOnlyPlan = async (api: Api, realms: readonly string[]): Promise<boolean> => {
  for (const realm of realms)
    try {
      return (await api.whoami(realm)).adminAccess === 'plan'
    } catch (error) {
      if (!(error instanceof ProblemError) || ![403, 404].includes(error.status)) throw error
    }
  return false
}

/** Who can apply needs every secret to plan too: else a plan would show less than its apply does. */
export const refuseLacking = async (
  invocation: Invocation,
  { api, target }: Pick<Connection, 'api' | 'target'>,
  files: EstateFiles,
): Promise<void> => {
  if (files.lacking.length === 0) return
  const realms = [target.authRealm, ...files.wanted.map(({ loaded }) => loaded.realm)]
  if (!(await mayOnlyPlan(api, [...new Set(realms)])))
    refuseInvalid(invocation, files, files.lacking)
}

/** A set of files that became empty is a mistake more often than a wish. */
export const refuseEmpty = (invocation: Invocation, { loaded, estate }: EstateFiles): void => {
  if (loaded.realms.length > 0) return
  if (invocation.flags['allowEmpty'] === true || estate.guards.allowEmpty) return
  throw new CommandError(exitCodes.guarded, 'the files contain no realm', {
    hint: 'name other paths, or give --allow-empty if this is intended',
  })
}

const targetsOf = ({ flags }: Invocation): PlanningOptions['targets'] =>
  listOf(flags['target']).map((text) => {
    const target = parseTarget(text)
    if (target) return target
    throw new CommandError(exitCodes.error, `--target ${text} is not the name of a document`, {
      hint: 'write KIND/KEY, such as client/web or group//Staff',
    })
  })

export const planningOptions = (
  invocation: Invocation,
  { estate }: EstateFiles,
  options: Pick<PlanningOptions, 'history' | 'dryRun'>,
): PlanningOptions => ({
  source: sourceNameOf(textOf(invocation, 'source', 'IAMCTL_SOURCE'), estate),
  prune: (invocation.flags['prune'] as Prune | undefined) ?? estate.prune,
  targets: targetsOf(invocation),
  takeOver: invocation.flags['takeOver'] === true,
  ...options,
})

/** The server checks what files cannot: its answer is shown at the lines that it is about. */
export const refusedByServer = (
  invocation: Invocation,
  error: unknown,
  plan: RealmPlan,
  files: EstateFiles | null,
): unknown => {
  if (!(error instanceof ProblemError) || error.code !== 'validation') return error
  const wanted = files?.wanted.find(({ loaded }) => loaded.realm === plan.realm)
  const { errors, detail } = error
  const told = errors.length > 0 ? errors : [{ field: '', code: error.code, message: detail }]
  const diagnostics = serverDiagnostics(told, plan, wanted)
  const human = invocation.output !== 'json' && invocation.output !== 'markdown'
  if (human) {
    const textOfFile = (file: string): string | undefined => files?.loaded.textOf(file)
    showDiagnostics({ diagnostics, textOf: textOfFile }, 'stderr')
  }
  return new CommandError(
    exitCodes.invalid,
    `the server refuses realm ${plan.realm}: ${error.detail}`,
    {
      hint: 'nothing was changed',
      ...(human ? {} : { diagnostics }),
      cause: error,
    },
  )
}

const planOne = async (
  invocation: Invocation,
  api: Api,
  files: EstateFiles,
  wanted: Wanted,
  options: PlanningOptions,
): Promise<RealmPlan> => {
  let drafted: RealmPlan | undefined
  try {
    return await planWanted(api, wanted, files.secretOf, options, (plan) => {
      drafted = plan
    })
  } catch (error) {
    throw drafted ? refusedByServer(invocation, error, drafted, files) : error
  }
}

/** A realm that has no plan, and why. */
export interface Unplanned {
  readonly realm: string
  readonly error: unknown
}

export interface PlannedFiles {
  readonly plan: Plan
  readonly unplanned: readonly Unplanned[]
}

/** Who cannot be reached, or does not know the caller, will not plan another realm either. */
const isOfOneRealm = (error: unknown): boolean =>
  (error instanceof ProblemError && error.status !== 401 && error.status !== 503) ||
  error instanceof CommandError

/** One realm that is refused does not keep the others from being planned. */
export const planFiles = async (
  invocation: Invocation,
  api: Api,
  files: EstateFiles,
  options: PlanningOptions,
): Promise<PlannedFiles> => {
  const realms: RealmPlan[] = []
  const unplanned: Unplanned[] = []
  for (const wanted of files.wanted)
    try {
      realms.push(await planOne(invocation, api, files, wanted, options))
    } catch (error) {
      if (!isOfOneRealm(error)) throw error
      unplanned.push({ realm: wanted.loaded.realm, error })
    }
  const plan: Plan = {
    formatVersion: 1,
    version: manifest.version,
    createdAt: new Date().toISOString(),
    server: api.server,
    guards: guardsOf(invocation.flags['maxDeletions'], files.estate),
    realms,
  }
  return { plan, unplanned }
}

/** Ends a command with the first of several failures; `others` says what became of the rest. */
export const failTogether = (
  failed: readonly Unplanned[],
  { total, others }: { readonly total: number; readonly others: string },
): void => {
  const [first] = failed
  if (!first) return
  if (total === 1) throw first.error
  const { exitCode, hint, diagnostics } = failureOf(first.error)
  const told = failed.map(({ realm, error }) => `${realm}: ${failureOf(error).message}`)
  throw new CommandError(
    exitCode,
    `${failed.length} of ${total} realms failed; ${others}. ${told.join('; ')}`,
    { ...(hint === null ? {} : { hint }), diagnostics, cause: first.error },
  )
}

/** What could be planned has been shown. */
export const refuseUnplanned = ({ plan, unplanned }: PlannedFiles): void =>
  failTogether(unplanned, {
    total: plan.realms.length + unplanned.length,
    others: 'the plan of the others is shown, and nothing was changed',
  })

/** A plan that cannot be carried out is shown, and then refused. */
export const refuseProblems = ({ realms }: Plan): void => {
  const [problem] = realms.flatMap(({ problems }) => problems)
  if (problem)
    throw new CommandError(problemExitCodes[problem.code], 'the plan cannot be applied', {
      hint: problem.message,
    })
}
