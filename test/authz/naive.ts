/** The rules of authorization services, read as they are written: no index, no memory, one list after the other. */

import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import type { Resource, Rules } from '#server/authz/evaluation/evaluate.ts'
import type { Facts } from '#server/authz/evaluation/facts.ts'

const combined = (strategy: string, answers: readonly boolean[]): boolean => {
  const permits = answers.filter(Boolean).length
  if (answers.length === 0) return false
  if (strategy === 'AFFIRMATIVE') return permits >= 1
  if (strategy === 'UNANIMOUS') return permits === answers.length
  return permits > answers.length / 2
}

const holds = (rules: Rules, facts: Facts, policy: AuthzPolicyDoc): boolean | undefined => {
  const { roles, groups, clients, users, notBefore, policies } = policy
  const username = facts.user?.username ?? ''
  switch (policy.type) {
    case 'role':
      return roles.length === 0 ? undefined : roles.some((role) => facts.roles.has(role))
    case 'group':
      if (groups.length === 0) return undefined
      return [...facts.groups].some((joined) =>
        groups.some(
          (group) => joined === group || (policy.extendChildren && joined.startsWith(`${group}/`)),
        ),
      )
    case 'client':
      return clients.length === 0 ? undefined : clients.includes(facts.clientId ?? '')
    case 'user':
      return users.length === 0 ? undefined : users.includes(username)
    case 'time':
      return notBefore ? facts.now >= Date.parse(notBefore) : undefined
    case 'aggregate':
      if (policies.length === 0) return undefined
      return combined(
        policy.decisionStrategy,
        policies.map((name) => permits(rules, facts, name)),
      )
    default:
      throw new Error(`a policy of type ${policy.type}`)
  }
}

const permits = (rules: Rules, facts: Facts, name: string): boolean => {
  const policy = rules.policies.find((one) => one.name === name)
  if (!policy) throw new Error(`no policy ${name}`)
  const answer = holds(rules, facts, policy)
  if (answer === undefined) return false
  return policy.logic === 'POSITIVE' ? answer : !answer
}

export const naiveStatus = (
  rules: Rules,
  facts: Facts,
  { doc }: Resource,
  scope: string | null,
): 'PERMIT' | 'DENY' => {
  const { policyEnforcementMode: mode, decisionStrategy } = rules.settings
  if (mode === 'DISABLED') return 'PERMIT'
  if (doc.ownerManagedAccess && doc.owner && doc.owner === facts.user?.username) return 'PERMIT'
  const about = rules.permissions.filter((one) => {
    const isNamed = one.resources.includes(doc.name)
    const isTyped = Boolean(one.resourceType) && one.resourceType === doc.type
    const isOfAll = one.type === 'scope' && one.resources.length === 0 && !one.resourceType
    const isScope =
      scope !== null && one.scopes.includes(scope)
        ? true
        : one.type === 'resource' && one.scopes.length === 0
    return (isNamed || isTyped || isOfAll) && isScope
  })
  if (about.length === 0) return mode === 'PERMISSIVE' ? 'PERMIT' : 'DENY'
  const answers = about.map((one) =>
    combined(
      one.decisionStrategy,
      one.policies.map((name) => permits(rules, facts, name)),
    ),
  )
  return combined(decisionStrategy, answers) ? 'PERMIT' : 'DENY'
}
