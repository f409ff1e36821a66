/** Makes the server's realms what the files say, without asking: how a laptop is kept up to date. */

import { type Diagnostic, hasErrors } from '../diagnostics.ts'
import { sourceNameOf } from '../load/estate.ts'
import type { Loaded } from '../load/loaded.ts'
import type { Engine } from '../planning/engine.ts'
import { type FileOptions, readFiles, wantedRealms } from '../planning/estate/files.ts'
import { guardsOf } from '../planning/guards.ts'
import { hasWork, type Plan } from '../planning/plan.ts'
import { planWanted } from '../planning/planning.ts'
import { applyPlan, type RealmResult } from './apply-plan.ts'

export interface SyncOptions extends FileOptions {
  readonly engine: Engine
  readonly server: string
  readonly version: string
  readonly source: string | undefined
  readonly allowExec: boolean
}

export interface SyncOutcome {
  readonly status: 'applied' | 'unchanged' | 'invalid' | 'failed'
  readonly diagnostics: readonly Diagnostic[]
  readonly plan: Plan | null
  readonly results: readonly RealmResult[]
  readonly loaded: Loaded | null
}

export const syncFiles = async (options: SyncOptions): Promise<SyncOutcome> => {
  const { engine, env, allowExec } = options
  const files = await readFiles(options)
  const { wanted, secretOf, diagnostics: missing } = await wantedRealms(files, { env, allowExec })
  const diagnostics = [...files.diagnostics, ...missing]
  const { loaded, estate } = files
  if (hasErrors(diagnostics))
    return { status: 'invalid', diagnostics, plan: null, results: [], loaded }

  const realms = []
  for (const one of wanted)
    realms.push(
      await planWanted(engine, one, secretOf, {
        source: sourceNameOf(options.source, estate),
        prune: estate.prune,
        targets: [],
        takeOver: true,
        history: false,
        dryRun: 'never',
      }),
    )
  const plan: Plan = {
    formatVersion: 1,
    version: options.version,
    createdAt: new Date().toISOString(),
    server: options.server,
    guards: guardsOf(undefined, estate),
    realms,
  }
  if (realms.some(({ problems }) => problems.length > 0))
    return { status: 'failed', diagnostics, plan, results: [], loaded }
  if (!realms.some(hasWork)) return { status: 'unchanged', diagnostics, plan, results: [], loaded }
  const results = await applyPlan(engine, plan, {
    provenance: {},
    allowUnrelated: true,
    takeOver: true,
    secretOf,
  })
  const failed = results.some(({ outcome }) => outcome === 'failed')
  return { status: failed ? 'failed' : 'applied', diagnostics, plan, results, loaded }
}
