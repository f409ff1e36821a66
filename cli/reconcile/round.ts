/** One round of the loop: pull, read, plan, and apply what the policy allows. It does not fail: it tells how it ended. */

import { type ChangeCounts, countChanges } from '#schemas/change-counts.ts'
import { applyRealm, type RealmResult } from '../apply/apply-plan.ts'
import { type Diagnostic, hasErrors } from '../diagnostics.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { type Failure, failureOf } from '../failure.ts'
import type { SecretOf } from '../planning/changeset.ts'
import type { Engine } from '../planning/engine.ts'
import {
  type FileOptions,
  type ReadFiles,
  readFiles,
  wantedRealms,
} from '../planning/estate/files.ts'
import type { Wanted } from '../planning/estate/wanted.ts'
import type { Prune } from '../planning/plan.ts'
import { planWanted } from '../planning/planning.ts'
import { type Held, type Policy, underPolicy } from './policy.ts'
import type { Pulled } from './pull.ts'

/** From the best to the worst; a round is as its worst realm. */
export const outcomes = ['unchanged', 'applied', 'held', 'invalid', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

export interface RealmRound extends ChangeCounts {
  readonly realm: string
  readonly outcome: Outcome
  readonly revision: number | null
  /** What differs and stays, because the policy does not allow to repair it. */
  readonly held: readonly Held[]
  readonly error: Failure | null
}

export interface RoundReport {
  readonly formatVersion: 1
  readonly round: number
  readonly startedAt: string
  readonly milliseconds: number
  readonly outcome: Outcome
  /** The commit that the files are of, where there is one. */
  readonly commit: string | null
  readonly realms: readonly RealmRound[]
  readonly diagnostics: readonly Diagnostic[]
  /** Why there are no realms. */
  readonly error: Failure | null
}

export interface RoundOptions {
  readonly engine: Engine
  readonly files: FileOptions
  readonly pull: (() => Promise<Pulled>) | null
  /** Of what the estate says, the loop's own flags count more. */
  readonly policyOf: (estate: ReadFiles['estate']) => Policy
  readonly pruneOf: (estate: ReadFiles['estate']) => Prune
  readonly sourceOf: (estate: ReadFiles['estate']) => string
  readonly provenance: () => Promise<Readonly<Record<string, string>>>
  readonly message: string
  readonly allowExec: boolean
  readonly allowEmpty: boolean
  readonly takeOver: boolean
  /** Whether the loop is to end: what is not begun is left. */
  readonly isStopping: () => boolean
}

const worst = (all: readonly Outcome[]): Outcome =>
  outcomes[all.reduce((most, one) => Math.max(most, outcomes.indexOf(one)), 0)] ?? 'failed'

const realmRound = (
  realm: string,
  outcome: Outcome,
  more: Partial<RealmRound> = {},
): RealmRound => ({
  realm,
  outcome,
  revision: null,
  ...countChanges([]),
  held: [],
  error: null,
  ...more,
})

const ofResult = (result: RealmResult, held: readonly Held[]): RealmRound => {
  const { realm } = result
  if (result.outcome === 'failed')
    return realmRound(realm, 'failed', { held, error: failureOf(result.error) })
  if (result.outcome === 'unchanged') {
    const outcome = held.length > 0 ? 'held' : 'unchanged'
    return realmRound(realm, outcome, { held, revision: result.revision })
  }
  const { revision, created, updated, deleted, adopted, along } = result.reply
  const counts = { created, updated, deleted, adopted, along }
  const outcome = held.length > 0 ? 'held' : 'applied'
  return realmRound(realm, outcome, { held, revision, ...counts })
}

const reconcileRealm = async (
  options: RoundOptions,
  { estate }: ReadFiles,
  wanted: Wanted,
  secretOf: SecretOf,
): Promise<RealmRound> => {
  const { engine, takeOver, message, isStopping } = options
  const { realm } = wanted.loaded
  try {
    const plan = await planWanted(engine, wanted, secretOf, {
      source: options.sourceOf(estate),
      prune: options.pruneOf(estate),
      targets: [],
      takeOver,
      history: false,
      dryRun: 'never',
    })
    const ruled = underPolicy(plan, options.policyOf(estate))
    if (ruled.plan === null || isStopping())
      return ofResult({ realm, outcome: 'unchanged', revision: plan.baseRevision }, ruled.held)
    const result = await applyRealm(engine, ruled.plan, {
      message,
      provenance: await options.provenance(),
      allowUnrelated: true,
      takeOver,
      secretOf,
    })
    return ofResult(result, ruled.held)
  } catch (error) {
    return realmRound(realm, 'failed', { error: failureOf(error) })
  }
}

type Result = Pick<RoundReport, 'outcome' | 'commit' | 'realms' | 'diagnostics' | 'error'>

const work = async (options: RoundOptions): Promise<Result> => {
  const pulled = options.pull === null ? null : await options.pull()
  const commit = pulled?.commit ?? null
  const files = await readFiles(options.files)
  const { env } = options.files
  const resolved = await wantedRealms(files, { env, allowExec: options.allowExec })
  const diagnostics = [...files.diagnostics, ...resolved.diagnostics]
  const none = { commit, realms: [], diagnostics, error: null }
  if (hasErrors(diagnostics)) return { ...none, outcome: 'invalid' }
  if (resolved.wanted.length === 0 && !options.allowEmpty && !files.estate.guards.allowEmpty) {
    const empty = new CommandError(exitCodes.guarded, 'the files contain no realm', {
      hint: 'name other paths, or give --allow-empty if this is intended',
    })
    return { ...none, outcome: 'held', error: failureOf(empty) }
  }
  const realms: RealmRound[] = []
  for (const wanted of resolved.wanted)
    if (!options.isStopping())
      realms.push(await reconcileRealm(options, files, wanted, resolved.secretOf))
  return { ...none, realms, outcome: worst(realms.map(({ outcome }) => outcome)) }
}

export const runRound = async (options: RoundOptions, count: number): Promise<RoundReport> => {
  const started = Date.now()
  const { outcome, ...rest } = await work(options).catch((error: unknown): Result => {
    const none = { commit: null, realms: [], diagnostics: [] }
    return { ...none, outcome: 'failed', error: failureOf(error) }
  })
  return {
    formatVersion: 1,
    round: count,
    startedAt: new Date(started).toISOString(),
    milliseconds: Date.now() - started,
    outcome,
    ...rest,
  }
}
