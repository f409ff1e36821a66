/** Files as text through the CLI's own loader, validator and planner. */

import { Readable } from 'node:stream'
import { applyPlan, type RealmResult } from '#cli/apply/apply-plan.ts'
import type { Api } from '#cli/client/api.ts'
import { findEstate } from '#cli/load/estate.ts'
import { loadRealms } from '#cli/load/load.ts'
import { type WantedRealms, wantedRealms } from '#cli/planning/estate/files.ts'
import type { RealmPlan } from '#cli/planning/plan.ts'
import { type PlanningOptions, planWanted } from '#cli/planning/planning.ts'
import { createValidator } from '#cli/validate/validate.ts'

const validator = createValidator()

export interface Files extends WantedRealms {
  readonly text: string
}

/** Throws where `validate` would find an error. */
export const filesOf = async (
  text: string,
  env: Readonly<Record<string, string>>,
): Promise<Files> => {
  const { estate } = await findEstate({ cwd: '/' })
  const loaded = await loadRealms({
    paths: ['-'],
    cwd: '/',
    estate,
    env,
    stdin: Readable.from([text]),
  })
  const diagnostics = validator.validate(loaded)
  const files = await wantedRealms({ loaded, estate, diagnostics }, { env, allowExec: false })
  const wrong = [...diagnostics, ...files.diagnostics].filter(
    ({ severity }) => severity === 'error',
  )
  if (wrong.length > 0) throw new Error(`${JSON.stringify(wrong, null, 1)}\n${text}`)
  return { ...files, text }
}

export interface Planned {
  readonly plan: RealmPlan
  /** How many requests it took. */
  readonly requests: number
}

export const planOf = async (
  api: Api,
  { wanted, secretOf }: Files,
  options: Partial<PlanningOptions> & Pick<PlanningOptions, 'source'>,
): Promise<Planned> => {
  const [one] = wanted
  if (!one) throw new Error('there is no realm in the file')
  const before = api.requests()
  const plan = await planWanted(api, one, secretOf, {
    prune: 'owned',
    targets: [],
    takeOver: false,
    history: false,
    dryRun: 'destructive',
    ...options,
  })
  return { plan, requests: api.requests() - before }
}

/** Throws what the server refuses. */
export const apply = async (
  api: Api,
  { secretOf }: Files,
  plan: RealmPlan,
): Promise<{ readonly result: RealmResult; readonly requests: number }> => {
  const before = api.requests()
  const [result] = await applyPlan(
    api,
    { realms: [plan] },
    { provenance: {}, allowUnrelated: false, takeOver: false, secretOf },
  )
  if (!result) throw new Error('no realm was applied')
  if (result.outcome === 'failed') throw result.error
  return { result, requests: api.requests() - before }
}
