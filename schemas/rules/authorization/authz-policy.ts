/** Policies: an aggregate does not contain itself nor others without end, and a range of a time has a beginning. */

import { isSetPart, timeParts } from '../../drivers/time-policy.ts'
import { circleFrom } from '../../graph/circle.ts'
import { depthFrom } from '../../graph/depth.ts'
import { keyBelow, parentKeyOf } from '../../kind.ts'
import {
  AuthzPolicy,
  type AuthzPolicyDoc,
  deepestPolicies,
} from '../../kinds/authorization/authz-policy.ts'
import type { FieldError } from '../../problems.ts'
import { ruleFor } from '../rule.ts'

/** A range without a beginning would be left out of the decision, which would widen it. */
const timeErrors = (policy: AuthzPolicyDoc): readonly FieldError[] =>
  timeParts.flatMap(({ start, end, wraps }) => {
    const [from, to] = [policy[start], policy[end]]
    if (!isSetPart(to)) return []
    if (!isSetPart(from))
      return [{ field: `/${start}`, code: 'required', message: `must be given with ${end}` }]
    if (wraps || from <= to) return []
    return [{ field: `/${end}`, code: 'range', message: `must not be less than ${start}` }]
  })

export const authzPolicy = ruleFor<AuthzPolicyDoc>(AuthzPolicy, (policy, key, { find, once }) => {
  const { policies } = policy
  const siblings = (names: readonly string[]): string[] =>
    names.map((name) => keyBelow(AuthzPolicy, parentKeyOf(AuthzPolicy, key), name))
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
  if (circle !== null) {
    const message = `the policy would contain itself: ${circle}`
    return [...timeErrors(policy), { field: '/policies', code: 'cycle', message }]
  }
  const depths = once('depths of policies', () => new Map<string, number>())
  const isTooDeep = depthFrom(key, contained, depths) > deepestPolicies
  const message = `aggregates contain each other more than ${deepestPolicies} deep`
  return [
    ...timeErrors(policy),
    ...(isTooDeep ? [{ field: '/policies', code: 'depth', message }] : []),
  ]
})
