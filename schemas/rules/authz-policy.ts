/** Policies: an aggregate does not contain itself. */

import { parentKeyOf } from '../kind.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '../kinds/authz-policy.ts'
import { reachesItself, ruleFor } from './rule.ts'

export const authzPolicy = ruleFor<AuthzPolicyDoc>(AuthzPolicy, ({ policies }, key, { find }) => {
  const siblings = (names: readonly string[]): string[] =>
    names.map((name) => `${parentKeyOf(AuthzPolicy, key)}/${name}`)
  const contained = (other: string): string[] =>
    siblings((find(AuthzPolicy.kind, other)?.['policies'] as string[] | undefined) ?? [])
  return reachesItself(key, siblings(policies), contained)
    ? [{ field: '/policies', code: 'cycle', message: 'the policy would contain itself' }]
    : []
})
