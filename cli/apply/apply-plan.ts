/** Sends a plan: one changeset per realm, each all or nothing, and a report of every one of them. */

import { randomBytes, randomUUID } from 'node:crypto'
import { type ChangesetReply, type ChangesetRequest, formatVersion } from '#schemas/wire/wire.ts'
import { underWay } from '../interruption.ts'
import { type SecretValue, toOperations } from '../planning/operations.ts'
import { hasWork, type Plan, type RealmPlan } from '../planning/plan.ts'
import type { SecretOf } from '../planning/planning.ts'
import { isUnknown } from '../planning/unknown-secrets.ts'
import type { Engine } from './engine.ts'

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

const requestOf = (
  plan: RealmPlan,
  { message, provenance, allowUnrelated, takeOver }: ApplyOptions,
  secretOf: SecretValue,
): ChangesetRequest => ({
  formatVersion,
  baseRevision: plan.baseRevision,
  source: plan.source,
  ...(plan.createRealm ? { createRealm: true } : {}),
  ...(message === undefined ? {} : { message }),
  ...(Object.keys(provenance).length > 0 ? { provenance: { ...provenance } } : {}),
  ...(allowUnrelated ? { allowUnrelated } : {}),
  ...(takeOver ? { takeOver } : {}),
  operations: toOperations(plan, secretOf),
})

/** Every secret of it has a value: a plan that was made without some is completed before it is sent. */
export const changesetOf = (plan: RealmPlan, options: ApplyOptions): ChangesetRequest => {
  if ((plan.unknownSecrets ?? []).length > 0)
    throw new Error(`the plan of realm ${plan.realm} was made without some of its secrets`)
  return requestOf(plan, options, ({ kind, key }, { pointer }) =>
    options.secretOf(plan.realm, { kind, key, pointer }),
  )
}

/**
 * Secrets that are not known are left out. Where the server wants a stored one again because it will be sent elsewhere, a random
 * text stands for it: a dry run keeps nothing.
 */
export const dryRunOf = (plan: RealmPlan, options: ApplyOptions): ChangesetRequest => ({
  ...requestOf(plan, options, ({ kind, key }, { pointer, change }) => {
    const place = { kind, key, pointer }
    if (!isUnknown(plan, place)) return options.secretOf(plan.realm, place)
    return change === 'again' ? randomBytes(32).toString('base64url') : undefined
  }),
  dryRun: true,
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
