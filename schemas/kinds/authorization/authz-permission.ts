import type { Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, id, name, oneOf, ref, setOf, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'segment' }),
  description: text('Description.'),
  type: oneOf(['resource', 'scope'], { default: 'resource' }),
  decisionStrategy: oneOf(['AFFIRMATIVE', 'UNANIMOUS', 'CONSENSUS'], { default: 'UNANIMOUS' }),
  resources: setOf(ref('authz-resource', { onDelete: 'detach', sibling: true }), {
    description: 'What access is granted to.',
  }),
  scopes: setOf(ref('authz-scope', { onDelete: 'detach', sibling: true }), {
    description: 'What may be done.',
  }),
  policies: setOf(ref('authz-policy', { onDelete: 'refuse', sibling: true }), {
    description: 'When it is granted.',
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
  isServed: false,
  spec,
})
