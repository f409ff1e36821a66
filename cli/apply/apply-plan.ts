/** Sends a plan: one changeset per realm, each all or nothing, and a report of every one of them. */

import { randomUUID } from 'node:crypto'
import type { ChangesetReply } from '#schemas/wire/wire.ts'
import { underWay } from '../interruption.ts'
import { type ChangesetOptions, changesetOf } from '../planning/changeset.ts'
import type { Engine } from '../planning/engine.ts'
import { hasWork, type Plan, type RealmPlan } from '../planning/plan.ts'

export type RealmResult =
  | { readonly realm: string; readonly outcome: 'unchanged'; readonly revision: number }
  | { readonly realm: string; readonly outcome: 'applied'; readonly reply: ChangesetReply }
  | { readonly realm: string; readonly outcome: 'failed'; readonly error: unknown }

export const applyRealm = async (
  engine: Engine,
  plan: RealmPlan,
  options: ChangesetOptions,
): Promise<RealmResult> => {
  const { realm, baseRevision } = plan
  if (!hasWork(plan)) return { realm, outcome: 'unchanged', revision: baseRevision }
  try {
    const idempotencyKey = randomUUID()
    const request = changesetOf(plan, options)
    const reply = await underWay({ realm, baseRevision }, () =>
      engine.changeset(realm, request, { idempotencyKey }),
    )
    return { realm, outcome: 'applied', reply }
  } catch (error) {
    return { realm, outcome: 'failed', error }
  }
}

/** One realm after the other; a realm that fails does not keep the others from being applied. */
export const applyPlan = async (
  engine: Engine,
  { realms }: Pick<Plan, 'realms'>,
  options: ChangesetOptions,
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
