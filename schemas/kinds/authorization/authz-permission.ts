import type { Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, id, name, oneOf, ref, setOf, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'child-name' }),
  description: text('Description.'),
  type: oneOf(['resource', 'scope'], {
    default: 'resource',
    description:
      'resource: all scopes of the resources, unless scopes are named; scope: the scopes.',
  }),
  decisionStrategy: oneOf(['AFFIRMATIVE', 'UNANIMOUS', 'CONSENSUS'], {
    default: 'UNANIMOUS',
    description: 'Any policy permits, all permit, or more permit than deny.',
  }),
  // Both are refused on deletion: a list that becomes empty would widen the permission to everything.
  resources: setOf(ref('authz-resource', { onDelete: 'refuse', sibling: true }), {
    description: 'What access is granted to; of type scope, none means every resource.',
  }),
  resourceType: text('Resources of this type too, also those that are registered later.', {
    maxLength: 255,
  }),
  scopes: setOf(ref('authz-scope', { onDelete: 'refuse', sibling: true }), {
    description: 'What may be done.',
  }),
  policies: setOf(ref('authz-policy', { onDelete: 'refuse', sibling: true }), {
    description: 'When it is granted; without a policy it is never granted.',
  }),
})

export type AuthzPermissionDoc = Static<typeof spec>

export const AuthzPermission = defineKind({
  kind: 'authz-permission',
  shape: 'child',
  section: 'authzPermissions',
  path: '/clients/{client}/authz/permissions',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'Ties resources and scopes of a client to the policies that open them.',
  spec,
})
