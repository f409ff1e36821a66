/** Policies: an aggregate does not contain itself. */

import { parentKeyOf } from '../kind.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '../kinds/authz-policy.ts'
import { circleFrom, ruleFor } from './rule.ts'

export const authzPolicy = ruleFor<AuthzPolicyDoc>(AuthzPolicy, ({ policies }, key, { find }) => {
  const siblings = (names: readonly string[]): string[] =>
    names.map((name) => `${parentKeyOf(AuthzPolicy, key)}/${name}`)
  const contained = (other: string): string[] =>
    siblings((find(AuthzPolicy.kind, other)?.['policies'] as string[] | undefined) ?? [])
  const circle = circleFrom(key, siblings(policies), contained)
  if (circle === null) return []
  const message = `the policy would contain itself: ${circle}`
  return [{ field: '/policies', code: 'cycle', message }]
})
