/**
 * A saved plan that was made without some of its secrets: they are all at hand now, and those that no change of the plan sets
 * are compared at last. The plan is applied as it is or not at all, so a secret that differs makes it stale.
 */

import { CommandError, exitCodes } from '../exit.ts'
import type { SecretOf } from '../planning/changeset.ts'
import type { Engine } from '../planning/engine.ts'
import { isInitial } from '../planning/estate/wanted.ts'
import { namesOf, placeKey } from '../planning/names.ts'
import type { Plan, RealmPlan } from '../planning/plan.ts'
import { uncompared } from '../planning/warnings/unknown-secrets.ts'

/** The key that a document has before the plan is applied. */
const presentKey = ({ changes }: RealmPlan, kind: string, key: string): string =>
  changes.find((change) => placeKey(change.kind, change.key) === placeKey(kind, key))?.from ?? key

const settled = async (engine: Engine, plan: RealmPlan, secretOf: SecretOf): Promise<RealmPlan> => {
  const { unknownSecrets, ...complete } = plan
  const secrets = uncompared(plan)
    .filter(({ kind, pointer }) => !isInitial(kind, pointer))
    .map(({ kind, key, pointer }) => ({
      kind,
      key: presentKey(plan, kind, key),
      pointer,
      value: secretOf(plan.realm, { kind, key, pointer }),
    }))
  if (unknownSecrets === undefined || secrets.length === 0) return complete
  const request = { source: plan.source, sectionHashes: {}, secrets }
  const differing = (await engine.compare(plan.realm, request))?.differingSecrets ?? []
  if (differing.length > 0)
    throw new CommandError(
      exitCodes.conflict,
      `realm ${plan.realm}: the plan was made without secrets that would change: ${namesOf(differing)}`,
      { hint: 'nothing was changed: plan again where the variables are set' },
    )
  return complete
}

export const settleUnknown = async (
  engine: Engine,
  plan: Plan,
  secretOf: SecretOf,
): Promise<Plan> => {
  const realms: RealmPlan[] = []
  for (const realm of plan.realms) realms.push(await settled(engine, realm, secretOf))
  return { ...plan, realms }
}
