/** Policies: an aggregate does not contain itself. */

import { circleFrom } from '../../graph/circle.ts'
import { parentKeyOf } from '../../kind.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '../../kinds/authorization/authz-policy.ts'
import { ruleFor } from '../rule.ts'

export const authzPolicy = ruleFor<AuthzPolicyDoc>(
  AuthzPolicy,
  ({ policies }, key, { find, once }) => {
    const siblings = (names: readonly string[]): string[] =>
      names.map((name) => `${parentKeyOf(AuthzPolicy, key)}/${name}`)
    const contained = (other: string): string[] =>
      siblings(
        other === key
          ? policies
          : ((find(AuthzPolicy.kind, other)?.['policies'] as string[] | undefined) ?? []),
      )
    const circle = circleFrom(
      key,
      contained,
      once('straight policies', () => new Set()),
    )
    if (circle === null) return []
    const message = `the policy would contain itself: ${circle}`
    return [{ field: '/policies', code: 'cycle', message }]
  },
)
