/** Sends a plan: one changeset per realm, each all or nothing, and a report of every one of them. */

import { randomUUID } from 'node:crypto'
import { type ChangesetReply, type ChangesetRequest, formatVersion } from '#schemas/wire.ts'
import { toOperations } from '../plan/operations.ts'
import { hasWork, type Plan, type RealmPlan } from '../plan/plan.ts'
import type { Engine } from './engine.ts'
import type { SecretOf } from './planning.ts'

export interface ApplyOptions {
  readonly message?: string
  readonly provenance: Readonly<Record<string, string>>
  /** Go on where the realm moved, but none of the plan's documents did. */
  readonly allowUnrelated: boolean
  readonly takeOver: boolean
  readonly secretOf: SecretOf
}

export type RealmResult =
  | { readonly realm: string; readonly outcome: 'unchanged'; readonly revision: number }
  | { readonly realm: string; readonly outcome: 'applied'; readonly reply: ChangesetReply }
  | { readonly realm: string; readonly outcome: 'failed'; readonly error: unknown }

export const changesetOf = (
  plan: RealmPlan,
  { message, provenance, allowUnrelated, takeOver, secretOf }: ApplyOptions,
): ChangesetRequest => ({
  formatVersion,
  baseRevision: plan.baseRevision,
  source: plan.source,
  ...(plan.createRealm ? { createRealm: true } : {}),
  ...(message === undefined ? {} : { message }),
  ...(Object.keys(provenance).length > 0 ? { provenance: { ...provenance } } : {}),
  ...(allowUnrelated ? { allowUnrelated } : {}),
  ...(takeOver ? { takeOver } : {}),
  operations: toOperations(plan, ({ kind, key }, { pointer }) =>
    secretOf(plan.realm, { kind, key, pointer }),
  ),
})

export const applyRealm = async (
  engine: Engine,
  plan: RealmPlan,
  options: ApplyOptions,
): Promise<RealmResult> => {
  const { realm, baseRevision } = plan
  if (!hasWork(plan)) return { realm, outcome: 'unchanged', revision: baseRevision }
  try {
    const idempotencyKey = randomUUID()
    const reply = await engine.changeset(realm, changesetOf(plan, options), { idempotencyKey })
    return { realm, outcome: 'applied', reply }
  } catch (error) {
    return { realm, outcome: 'failed', error }
  }
}

/** One realm after the other; a realm that fails does not keep the others from being applied. */
export const applyPlan = async (
  engine: Engine,
  { realms }: Pick<Plan, 'realms'>,
  options: ApplyOptions,
  onRealm: (plan: RealmPlan, work: () => Promise<RealmResult>) => Promise<RealmResult> = (
    _,
    work,
  ) => work(),
): Promise<RealmResult[]> => {
  const results: RealmResult[] = []
  for (const plan of realms)
    results.push(await onRealm(plan, () => applyRealm(engine, plan, options)))
  return results
}
