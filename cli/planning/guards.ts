/** Guards: reasons to refuse an apply of valid files (exit code 7). */

import type { Estate } from '../load/estate.ts'
import type { Guards, Plan, RealmPlan } from './plan.ts'

const defaultGuards: Guards = { maxDeletions: 20 }

/** What the person gave, else what the estate says; undefined where neither does. */
const limitOf = (
  given: number | undefined,
  { guards }: Pick<Estate, 'guards'>,
): number | undefined => given ?? guards.maxDeletions ?? undefined

export const guardsOf = (given: number | undefined, estate: Pick<Estate, 'guards'>): Guards => ({
  maxDeletions: limitOf(given, estate) ?? defaultGuards.maxDeletions,
})

const deletionsIn = ({ changes }: RealmPlan): RealmPlan['changes'] =>
  changes.filter(({ action }) => action === 'delete')

const tooMany = (plan: RealmPlan, { maxDeletions }: Guards): string[] => {
  const { destroy } = plan.summary
  return destroy <= maxDeletions
    ? []
    : [
        `realm ${plan.realm}: the plan destroys ${destroy} documents, and the limit is ${maxDeletions}; ` +
          'look at the plan, then raise it with --max-deletions or guards.maxDeletions (a saved plan keeps the ' +
          'limit that it was made under: raise it, and plan again)',
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
export const refusals = ({ realms }: Pick<Plan, 'realms'>, guards: Guards): string[] =>
  realms.flatMap((realm) => [...tooMany(realm, guards), ...protectedOnes(realm)])

/** Changes that remove access: the user must type the name of the realm. */
export const isDestructive = (plan: RealmPlan): boolean => deletionsIn(plan).length > 0
