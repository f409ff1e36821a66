/** What an apply refuses although the files are valid and the server would do it: exit code 7. */

import type { Plan, RealmPlan } from '../plan/plan.ts'

export interface Guards {
  /** At most so many documents may be destroyed in one realm by one apply. */
  readonly maxDeletions: number
}

export const defaultGuards: Guards = { maxDeletions: 20 }

const deletionsIn = ({ changes }: RealmPlan): RealmPlan['changes'] =>
  changes.filter(({ action }) => action === 'delete')

const tooMany = (plan: RealmPlan, { maxDeletions }: Guards): string[] => {
  const { destroy } = plan.summary
  return destroy <= maxDeletions
    ? []
    : [
        `realm ${plan.realm}: the plan destroys ${destroy} documents, and the limit is ${maxDeletions}; ` +
          'look at the plan, then raise it with --max-deletions or guards.maxDeletions',
      ]
}

const protectedOnes = (plan: RealmPlan): string[] =>
  deletionsIn(plan)
    .filter((change) => change.protected.before)
    .map(
      ({ kind, key }) =>
        `realm ${plan.realm}: ${kind} "${key}" is protected and left the files; put it back, ` +
        'or apply it once without `protected` before you remove it',
    )

/** Why this plan is not applied; empty where it may be. */
export const refusals = (plan: Plan, guards: Guards): string[] =>
  plan.realms.flatMap((realm) => [...tooMany(realm, guards), ...protectedOnes(realm)])

/** Changes that take something away from somebody: a person must name the realm. */
export const isDestructive = (plan: RealmPlan): boolean => deletionsIn(plan).length > 0
