/** The files of a command, read and checked and with their secrets at hand, and the plan that they lead to. */

import manifest from '../../../package.json' with { type: 'json' }
import type { Api } from '../../client/api.ts'
import type { Connection } from '../../client/connect.ts'
import { ProblemError } from '../../client/http/errors.ts'
import {
  type Diagnostic,
  type DiagnosticsSource,
  diagnosticsSummary,
  hasErrors,
} from '../../diagnostics.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { failureOf } from '../../failure.ts'
import { sourceNameOf } from '../../load/estate.ts'
import { unsetCode } from '../../load/secrets/secrets.ts'
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
import { isAboutChanges, serverDiagnostics } from './server-problems.ts'
import type { Wanted } from './wanted.ts'

export interface EstateFiles extends Omit<ReadFiles, 'diagnostics'>, WantedRealms {
  /** Some references lead to documents that only the server knows. */
  readonly isUnchecked: boolean
  /** Secrets whose variables are not set, allowed for plan-only credentials. */
  readonly lacking: readonly Diagnostic[]
}

/** What a person sees of files before there is a plan. */
export interface FilesView {
  /** Shows what is wrong; false where the error that ends the command carries it. */
  readonly problems: (source: DiagnosticsSource) => boolean
  /** Warnings. */
  readonly warnings: (source: DiagnosticsSource) => void
}

/** For programs, and for a comment on a pull request: what is wrong is in the error itself. */
export const carriedByError: FilesView = { problems: () => false, warnings: () => undefined }

/** How a command reads its files. */
export interface Reading {
  readonly files: FileOptions
  readonly allowExec: boolean
  readonly quiet: boolean
  readonly view: FilesView
}

const wrongFiles = {
  message: 'the files are not valid',
  hint: 'nothing was sent; `iamctl validate` checks them without a server',
}

/** `validate` does not ask for secrets: it would find nothing wrong. */
const withoutSecrets = {
  message: 'secrets of the files have no value',
  hint: 'nothing was sent; set the variables, or correct the references, and run the command again',
}

export const refuseInvalid = (
  view: FilesView,
  { loaded }: Pick<ReadFiles, 'loaded'>,
  diagnostics: readonly Diagnostic[],
  { message, hint } = wrongFiles,
): never => {
  const isShown = view.problems({ diagnostics, textOf: loaded.textOf })
  throw new CommandError(exitCodes.invalid, `${message}: ${diagnosticsSummary(diagnostics)}`, {
    hint,
    ...(isShown ? {} : { diagnostics }),
  })
}

/**
 * Ends the command with exit code 3 unless everything is valid; warnings are said and do not end it. A command that plans may go
 * on without variables that are not set, until it is known who the caller is: see `refuseLacking`.
 */
export const validFiles = async (
  { files: options, allowExec, quiet, view }: Reading,
  { mayLackSecrets = false } = {},
): Promise<EstateFiles> => {
  // A server checks what comes of them: it knows the documents that other estates declare.
  const files = await readFiles({ ...options, serverChecks: true })
  if (hasErrors(files.diagnostics)) refuseInvalid(view, files, files.diagnostics)
  const isUnchecked = files.diagnostics.some(({ code }) => code === 'unchecked-reference')
  const wanted = await wantedRealms(files, { env: options.env, allowExec })
  const mayGoOn = mayLackSecrets && wanted.diagnostics.every(({ code }) => code === unsetCode)
  if (hasErrors(wanted.diagnostics) && !mayGoOn)
    refuseInvalid(view, files, wanted.diagnostics, withoutSecrets)
  if (!quiet) view.warnings({ ...files, textOf: files.loaded.textOf })
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

/** Credentials that can apply need every secret to plan too: otherwise the plan would show less than its apply changes. */
export const refuseLacking = async (
  view: FilesView,
  { api, target }: Pick<Connection, 'api' | 'target'>,
  files: EstateFiles,
): Promise<void> => {
  if (files.lacking.length === 0) return
  const realms = [target.authRealm, ...files.wanted.map(({ loaded }) => loaded.realm)]
  if (!(await mayOnlyPlan(api, [...new Set(realms)])))
    refuseInvalid(view, files, files.lacking, withoutSecrets)
}

/** A set of files that became empty is a mistake more often than a wish. `allowEmpty`: the flag, where the command has it. */
export const refuseEmpty = ({ loaded, estate }: EstateFiles, allowEmpty?: boolean): void => {
  if (loaded.realms.length > 0) return
  if (allowEmpty || estate.guards.allowEmpty) return
  const allow =
    allowEmpty === undefined ? 'set guards.allowEmpty in iamctl.yaml' : 'give --allow-empty'
  throw new CommandError(exitCodes.guarded, 'the files contain no realm', {
    hint: `name other paths, or ${allow} if this is intended`,
  })
}

const targetsOf = (texts: readonly string[]): PlanningOptions['targets'] =>
  texts.map((text) => {
    const target = parseTarget(text)
    if (target) return target
    throw new CommandError(exitCodes.error, `--target ${text} is not the name of a document`, {
      hint: 'write KIND/KEY, such as client/web or group//Staff',
    })
  })

/** What the command line says about planning. */
export interface PlanningFlags {
  readonly source: string | undefined
  readonly prune?: Prune | undefined
  readonly target?: readonly string[]
  readonly takeOver?: boolean
}

export const planningOptions = (
  { source, prune, target = [], takeOver = false }: PlanningFlags,
  { estate }: EstateFiles,
  options: Pick<PlanningOptions, 'history' | 'dryRun'>,
): PlanningOptions => ({
  source: sourceNameOf(source, estate),
  prune: prune ?? estate.prune,
  targets: targetsOf(target),
  takeOver,
  ...options,
})

/** The server checks what files cannot: its answer is shown at the lines that it is about. */
export const refusedByServer = (
  view: FilesView,
  error: unknown,
  plan: RealmPlan,
  files: EstateFiles | null,
): unknown => {
  if (!(error instanceof ProblemError) || !isAboutChanges(error)) return error
  const wanted = files?.wanted.find(({ loaded }) => loaded.realm === plan.realm)
  const { errors, detail } = error
  const told = errors.length > 0 ? errors : [{ field: '', code: error.code, message: detail }]
  const diagnostics = serverDiagnostics(told, plan, wanted)
  const textOf = (file: string): string | undefined => files?.loaded.textOf(file)
  const carried = view.problems({ diagnostics, textOf }) ? [] : diagnostics
  const messages = diagnostics.map(({ message }) => message)
  const more = messages.length > 3 ? `; and ${messages.length - 3} more` : ''
  const message = `the server refuses realm ${plan.realm}: ${messages.slice(0, 3).join('; ')}${more}`
  // Of other codes, such as `owned`, the code tells what to do and the exit code.
  if (error.code !== 'validation')
    return new ProblemError(
      { ...error, detail: message, errors: [], diagnostics: carried },
      { cause: error },
    )
  return new CommandError(exitCodes.invalid, message, {
    hint: `realm ${plan.realm} was not changed; correct its files`,
    diagnostics: carried,
    cause: error,
  })
}

const planOne = async (
  view: FilesView,
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
    throw drafted ? refusedByServer(view, error, drafted, files) : error
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

/** A server that is out of reach or refuses the credentials fails for every realm. */
const isOfOneRealm = (error: unknown): boolean =>
  (error instanceof ProblemError && error.status !== 401 && error.status !== 503) ||
  error instanceof CommandError

/** One realm that is refused does not keep the others from being planned. */
export const planFiles = async (
  { view, maxDeletions }: { readonly view: FilesView; readonly maxDeletions?: number | undefined },
  api: Api,
  files: EstateFiles,
  options: PlanningOptions,
): Promise<PlannedFiles> => {
  const realms: RealmPlan[] = []
  const unplanned: Unplanned[] = []
  for (const wanted of files.wanted)
    try {
      realms.push(await planOne(view, api, files, wanted, options))
    } catch (error) {
      if (!isOfOneRealm(error)) throw error
      unplanned.push({ realm: wanted.loaded.realm, error })
    }
  const plan: Plan = {
    formatVersion: 1,
    version: manifest.version,
    createdAt: new Date().toISOString(),
    server: api.server,
    guards: guardsOf(maxDeletions, files.estate),
    realms,
  }
  return { plan, unplanned }
}

/** Ends a command with all that failed and the exit code of the first; `others` says what became of the rest. */
export const failTogether = (
  failed: readonly Unplanned[],
  { total, others }: { readonly total: number; readonly others: string },
): void => {
  const [first] = failed
  if (!first) return
  if (total === 1) throw first.error
  const failures = failed.map(({ realm, error }) => ({ realm, ...failureOf(error) }))
  const told = failures.map(({ realm, message }) => `${realm}: ${message}`)
  const hints = new Set(failures.flatMap(({ hint }) => hint ?? []))
  throw new CommandError(
    failureOf(first.error).exitCode,
    `${failed.length} of ${total} realms failed; ${others}. ${told.join('; ')}`,
    {
      ...(hints.size === 0 ? {} : { hint: [...hints].join('\n  ') }),
      diagnostics: failures.flatMap(({ diagnostics }) => diagnostics),
      cause: first.error,
    },
  )
}

/** Throws after the plans of the other realms were shown. */
export const refuseUnplanned = ({ plan, unplanned }: PlannedFiles): void =>
  failTogether(unplanned, {
    total: plan.realms.length + unplanned.length,
    others: 'the plan of the others is shown',
  })

/** A plan that cannot be carried out is shown, and then refused. */
export const refuseProblems = ({ realms }: Plan): void => {
  const [problem] = realms.flatMap(({ problems }) => problems)
  if (problem)
    throw new CommandError(problemExitCodes[problem.code], 'the plan cannot be applied', {
      hint: problem.message,
    })
}
