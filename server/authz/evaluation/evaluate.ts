/**
 * The decision about a resource and its scopes, with the reasons. The permissions about a scope are combined by the strategy
 * of the resource server. Owner-managed access (UMA 2.0) adds to what they permit: the owner has every scope, others have the
 * scopes that the owner shared.
 */

import type { AuthzPermissionDoc } from '#schemas/kinds/authorization/authz-permission.ts'
import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import type { AuthzResourceDoc } from '#schemas/kinds/authorization/authz-resource.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { type Facts, isNamed } from './facts.ts'
import { compilePermissions, type Permission, type PermissionAnswer } from './permissions.ts'
import { compilePolicies } from './policies.ts'
import { type Counted, counted, decideCounts, type Status, statusOf } from './strategy.ts'

export interface Resource {
  readonly id: string
  readonly doc: AuthzResourceDoc
}

/** A question: some scopes of a resource, or all that it has; without a resource, scopes alone. */
export interface Question {
  readonly resource?: Resource | undefined
  readonly scopes?: readonly string[] | undefined
}

export interface ScopeAnswer {
  /** Null for a resource that has no scopes. */
  readonly scope: string | null
  readonly status: Status
  readonly why: string
  /** Made when asked for: a token needs the status alone. */
  readonly permissions: () => readonly PermissionAnswer[]
}

export interface ResourceAnswer {
  readonly resource: Resource | undefined
  /** PERMIT where at least one scope is permitted. */
  readonly status: Status
  readonly scopes: readonly ScopeAnswer[]
}

/** The configuration of a resource server. */
export interface Rules {
  readonly settings: ClientDoc['authorizationSettings']
  readonly policies: readonly AuthzPolicyDoc[]
  readonly permissions: readonly AuthzPermissionDoc[]
}

/** Answers questions about one requesting party. */
export type Evaluate = (question: Question) => ResourceAnswer

export type Evaluator = (facts: Facts) => Evaluate

/** Why the owner, or a share of the owner, permits the scope; undefined where neither does. */
const byOwner = (
  resource: Resource | undefined,
  scope: string | null,
  { user, shared }: Facts,
): string | undefined => {
  if (!resource?.doc.ownerManagedAccess || !resource.doc.owner) return undefined
  if (user && isNamed(resource.doc.owner, user)) return 'the user owns the resource'
  // One that has lost its scopes is not the whole of what was shared of it.
  return shared.get(resource.id)?.get(scope ?? '')
}

export const compileRules = ({ settings, policies, permissions }: Rules): Evaluator => {
  const compiled = compilePolicies(policies)
  const index = compilePermissions(permissions)
  const { policyEnforcementMode: mode, decisionStrategy } = settings

  return (facts) => {
    const ask = compiled.asking(facts)
    const known = new Map<Permission, PermissionAnswer>()
    const answerOf = (permission: Permission): PermissionAnswer => {
      const answer = known.get(permission) ?? permission.answer(ask)
      known.set(permission, answer)
      return answer
    }

    /** The same for every resource: a realm may have thousands of both. */
    const general = new Map<string | null, Counted<PermissionAnswer>>()
    const generalOf = (scope: string | null): Counted<PermissionAnswer> => {
      const answers = general.get(scope) ?? counted(index.general(scope).map(answerOf))
      general.set(scope, answers)
      return answers
    }

    const decide = (
      resource: Resource | undefined,
      scope: string | null,
    ): Omit<ScopeAnswer, 'scope'> => {
      if (mode === 'DISABLED')
        return { status: 'PERMIT', why: 'enforcement is disabled', permissions: () => [] }
      const place = { name: resource?.doc.name, type: resource?.doc.type }
      const own = counted(index.own(place, scope).map(answerOf))
      const ofAll = generalOf(scope)
      const permissions = () => [...own.answers, ...ofAll.answers]
      const owner = byOwner(resource, scope, facts)
      if (owner !== undefined) return { status: 'PERMIT', why: owner, permissions }
      const count = own.answers.length + ofAll.answers.length
      const permits = own.permits + ofAll.permits
      if (count === 0)
        return {
          status: statusOf(mode === 'PERMISSIVE'),
          why: `no permission is about it, and enforcement is ${mode}`,
          permissions,
        }
      return {
        status: decideCounts(decisionStrategy, permits, count - permits),
        why: `${permits} of ${count} permissions permit, ${decisionStrategy}`,
        permissions,
      }
    }

    return ({ resource, scopes = resource?.doc.scopes ?? [] }) => {
      const asked: readonly (string | null)[] = scopes.length === 0 ? [null] : scopes
      const answers = asked.map((scope) => ({ scope, ...decide(resource, scope) }))
      const isPermitted = answers.some(({ status }) => status === 'PERMIT')
      return { resource, status: statusOf(isPermitted), scopes: answers }
    }
  }
}
