/**
 * Policies, compiled once for a state of the realm: lists become sets and names of other policies become those policies. A
 * policy answers from facts alone and says why. There is no policy type that runs a script: configuration is data, and an
 * administrator of one realm must not run code in the server of all realms.
 */

import { circleFrom } from '#schemas/graph/circle.ts'
import { depthFrom } from '#schemas/graph/depth.ts'
import { type AuthzPolicyDoc, deepestPolicies } from '#schemas/kinds/authorization/authz-policy.ts'
import { type Facts, isNamed } from './facts.ts'
import { decideBy, type Status, statusOf } from './strategy.ts'
import { compileTime } from './time.ts'

export interface PolicyAnswer {
  readonly name: string
  readonly type: AuthzPolicyDoc['type']
  readonly logic: AuthzPolicyDoc['logic']
  readonly status: Status
  /** The role, group, client, user or moment that decided. */
  readonly why: string
  /** Of an aggregate. */
  readonly policies?: readonly PolicyAnswer[]
}

/** Asks a policy by its name, at most once for the same facts. */
export type Ask = (name: string) => PolicyAnswer

/** Whether the condition holds; undefined where the policy names nothing that could hold. */
interface Finding {
  readonly holds: boolean | undefined
  readonly why: string
  readonly policies?: readonly PolicyAnswer[]
}

type Condition = (facts: Facts, ask: Ask) => Finding

/** Characters of a list of names: it stands in every answer of the policy, and an explanation has thousands of them (CWE-405). */
const longestList = 300

const listed = (names: readonly string[]): string => {
  const shown: string[] = []
  let length = 0
  for (const name of names) {
    if (length + name.length > longestList) break
    shown.push(name)
    length += name.length
  }
  const left = names.length - shown.length
  return left === 0 ? shown.join(', ') : [...shown, `${left} more`].join(', ')
}

/** One of the named things is among those that the requesting party has. */
const anyOf =
  (noun: string, names: readonly string[], held: (facts: Facts) => ReadonlySet<string>) =>
  (facts: Facts): Finding => {
    if (names.length === 0) return { holds: undefined, why: `the policy names no ${noun}` }
    const has = held(facts)
    const found = names.find((name) => has.has(name))
    return found === undefined
      ? { holds: false, why: `has no ${noun} of ${listed(names)}` }
      : { holds: true, why: `has the ${noun} ${found}` }
  }

const isBelow = (group: string, above: string): boolean => group.startsWith(`${above}/`)

const inGroup =
  ({ groups, extendChildren }: AuthzPolicyDoc) =>
  (facts: Facts): Finding => {
    if (groups.length === 0) return { holds: undefined, why: 'the policy names no group' }
    const joined = [...facts.groups].find(
      (one) =>
        groups.includes(one) || (extendChildren && groups.some((above) => isBelow(one, above))),
    )
    return joined === undefined
      ? { holds: false, why: `is in no group of ${listed(groups)}` }
      : { holds: true, why: `is in the group ${joined}` }
  }

const isClient =
  ({ clients }: AuthzPolicyDoc) =>
  ({ clientId }: Facts): Finding => {
    if (clients.length === 0) return { holds: undefined, why: 'the policy names no client' }
    if (clientId === undefined) return { holds: false, why: 'no client asks' }
    return { holds: clients.includes(clientId), why: `the client is ${clientId}` }
  }

const isUser =
  ({ users }: AuthzPolicyDoc) =>
  ({ user }: Facts): Finding => {
    if (users.length === 0) return { holds: undefined, why: 'the policy names no user' }
    if (!user) return { holds: false, why: 'no user asks' }
    const found = users.find((name) => isNamed(name, user))
    return found === undefined
      ? { holds: false, why: `the user is none of ${listed(users)}` }
      : { holds: true, why: `the user is ${found}` }
  }

const isTime = (policy: AuthzPolicyDoc): Condition => {
  const answer = compileTime(policy)
  return ({ now }) => answer(now)
}

const aggregate =
  ({ policies: names, decisionStrategy }: AuthzPolicyDoc): Condition =>
  (_facts, ask) => {
    if (names.length === 0) return { holds: undefined, why: 'the policy names no policy' }
    const policies = names.map(ask)
    const permits = policies.filter(({ status }) => status === 'PERMIT').length
    return {
      holds: decideBy(decisionStrategy, policies) === 'PERMIT',
      why: `${permits} of ${policies.length} policies permit, ${decisionStrategy}`,
      policies,
    }
  }

const conditions: Readonly<Record<AuthzPolicyDoc['type'], (doc: AuthzPolicyDoc) => Condition>> = {
  role: ({ roles }) => anyOf('role', roles, (facts) => facts.roles),
  'client-role': ({ clientRoles }) =>
    anyOf('client role', clientRoles, (facts) => facts.clientRoles),
  group: inGroup,
  client: isClient,
  user: isUser,
  time: isTime,
  aggregate,
}

/** NEGATIVE turns an answer around, but not a question that the policy does not ask: that stays a denial. */
const answerOf = ({ name, type, logic }: AuthzPolicyDoc, finding: Finding): PolicyAnswer => {
  const { holds, why, policies } = finding
  const isPermitted = holds !== undefined && holds === (logic === 'POSITIVE')
  return {
    name,
    type,
    logic,
    status: statusOf(isPermitted),
    why,
    ...(policies ? { policies } : {}),
  }
}

export interface Policies {
  /** Every policy is answered at most once for these facts. */
  asking(facts: Facts): Ask
}

/** The write path refuses circles; one that is stored nevertheless permits nothing, and is not followed for ever. */
const circular: Condition = () => ({ holds: undefined, why: 'the policy contains itself' })
/** Documents below an aggregate may have made it deeper since it was written. */
const tooDeep: Condition = () => ({
  holds: undefined,
  why: `the policy contains others more than ${deepestPolicies} deep`,
})

export const compilePolicies = (docs: readonly AuthzPolicyDoc[]): Policies => {
  const byName = new Map(docs.map((doc) => [doc.name, doc]))
  const contained = (name: string): readonly string[] => byName.get(name)?.policies ?? []
  const straight = new Set<string>()
  const depths = new Map<string, number>()
  const conditionOf = (doc: AuthzPolicyDoc): Condition => {
    if (circleFrom(doc.name, contained, straight) !== null) return circular
    if (depthFrom(doc.name, contained, depths) > deepestPolicies) return tooDeep
    return conditions[doc.type](doc)
  }
  const compiled = new Map(docs.map((doc) => [doc.name, { doc, condition: conditionOf(doc) }]))
  return {
    asking: (facts) => {
      const known = new Map<string, PolicyAnswer>()
      const ask: Ask = (name) => {
        const before = known.get(name)
        if (before) return before
        const policy = compiled.get(name)
        if (!policy) throw new Error(`there is no policy ${name}`)
        const answer = answerOf(policy.doc, policy.condition(facts, ask))
        known.set(name, answer)
        return answer
      }
      return ask
    },
  }
}
