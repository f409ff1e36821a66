/** The changes that the loop may apply; all other differences are reported only. */

import type { Place as SourcePlace } from '../diagnostics.ts'
import { refusals } from '../planning/guards.ts'
import {
  type Action,
  type Guards,
  hasWork,
  isAdoption,
  type RealmPlan,
  summaryOf,
} from '../planning/plan.ts'

export interface Policy extends Guards {
  /** Kinds that are repaired; null: all. */
  readonly only: ReadonlySet<string> | null
  /** Report differences and change nothing. */
  readonly reportOnly: boolean
}

/** A difference that is not repaired. */
export interface Held {
  readonly kind: string
  readonly key: string
  readonly action: Action | 'refuse'
  readonly reason: string
  readonly place: SourcePlace | null
}

export interface Ruled {
  /** What may be applied; null: nothing. */
  readonly plan: RealmPlan | null
  readonly held: readonly Held[]
}

const reasonFor = (plan: RealmPlan, kind: string, { only, reportOnly }: Policy): string | null => {
  if (reportOnly) return 'differences are reported, not repaired (--report-only)'
  if (only !== null && !only.has(kind)) return `--only does not name the kind ${kind}`
  if (only !== null && plan.createRealm) return 'the realm does not exist, and --only makes none'
  return null
}

const held = (plan: RealmPlan, reasonOf: (kind: string) => string | null): Held[] =>
  plan.changes.flatMap((change) => {
    const reason = isAdoption(change) ? null : reasonOf(change.kind)
    const { kind, key, action, place } = change
    return reason === null ? [] : [{ kind, key, action, reason, place }]
  })

export const underPolicy = (plan: RealmPlan, policy: Policy): Ruled => {
  if (plan.problems.length > 0)
    return {
      plan: null,
      held: plan.problems.map(({ kind, key, message, place }) => ({
        kind,
        key,
        action: 'refuse',
        reason: message,
        place,
      })),
    }
  const { createRealm } = plan
  const kept = plan.changes.filter(({ kind }) => reasonFor(plan, kind, policy) === null)
  const left = held(plan, (kind) => reasonFor(plan, kind, policy))
  const isWhole = kept.length === plan.changes.length
  const allowed = isWhole ? plan : { ...plan, changes: kept, summary: summaryOf(kept) }
  const [refusal] = refusals({ realms: [allowed] }, policy)
  if (refusal !== undefined) return { plan: null, held: held(plan, () => refusal) }
  const isAllowed = hasWork(allowed) && !policy.reportOnly && !(createRealm && policy.only !== null)
  return { plan: isAllowed ? allowed : null, held: left }
}
