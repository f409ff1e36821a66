/** Policies and permissions of authorization services that can never permit anything. */

import { isSetPart, timeParts } from '#schemas/drivers/time-policy.ts'
import {
  AuthzPermission,
  type AuthzPermissionDoc,
} from '#schemas/kinds/authorization/authz-permission.ts'
import { AuthzPolicy, type AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

/** The field that a policy of each type decides by. */
const conditionOf: Readonly<Record<AuthzPolicyDoc['type'], keyof AuthzPolicyDoc>> = {
  role: 'roles',
  'client-role': 'clientRoles',
  group: 'groups',
  client: 'clients',
  user: 'users',
  time: 'notBefore',
  aggregate: 'policies',
}

const isEmpty = (policy: AuthzPolicyDoc): boolean => {
  const { type, notBefore, notOnOrAfter } = policy
  if (type === 'time')
    return !notBefore && !notOnOrAfter && !timeParts.some(({ start }) => isSetPart(policy[start]))
  const named = policy[conditionOf[type]]
  return Array.isArray(named) && named.length === 0
}

const isAboutNothing = ({ type, resources, resourceType, scopes }: AuthzPermissionDoc): boolean =>
  type === 'scope' ? scopes.length === 0 : resources.length === 0 && !resourceType

export const idleAuthorization: readonly WeakChoice[] = [
  weakChoice<AuthzPolicyDoc>(
    AuthzPolicy,
    'policy-without-condition',
    'a policy names nothing of its type, so that it denies',
    (policy) => [
      isEmpty(policy) && {
        field: '/type',
        message: `a policy of type ${policy.type} without ${conditionOf[policy.type]} denies everyone`,
        hint: `name ${conditionOf[policy.type]}, or change the type`,
      },
    ],
  ),
  weakChoice<AuthzPermissionDoc>(
    AuthzPermission,
    'permission-without-effect',
    'a permission has no policy, or is about nothing',
    (permission) => [
      permission.policies.length === 0 && {
        field: '/name',
        message: 'a permission without policies is never granted',
        hint: 'name the policies that grant it',
      },
      isAboutNothing(permission) && {
        field: '/type',
        message: `a permission of type ${permission.type} without ${permission.type === 'scope' ? 'scopes' : 'resources'} is about nothing`,
        hint: 'name them, or change the type',
      },
    ],
  ),
]
