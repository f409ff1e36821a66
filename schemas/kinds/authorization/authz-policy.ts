import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, id, name, oneOf, ref, setOf, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'segment' }),
  description: text('Description.'),
  type: oneOf(['role', 'client-role', 'group', 'client', 'user', 'time', 'aggregate']),
  logic: oneOf(['POSITIVE', 'NEGATIVE'], { default: 'POSITIVE' }),
  decisionStrategy: oneOf(['AFFIRMATIVE', 'UNANIMOUS', 'CONSENSUS'], { default: 'UNANIMOUS' }),
  roles: setOf(ref('role', { onDelete: 'refuse' }), { description: 'Of type role.' }),
  clientRoles: setOf(ref('client-role', { onDelete: 'refuse' }), {
    description: 'Of type client-role, as client/role.',
  }),
  groups: setOf(ref('group', { onDelete: 'refuse' }), { description: 'Of type group, as /path.' }),
  clients: setOf(ref('client', { onDelete: 'refuse' }), { description: 'Of type client.' }),
  users: setOf(Type.String({ minLength: 1, maxLength: 255 }), { description: 'Of type user.' }),
  notBefore: text('Of type time: from this moment.', { format: 'date-time' }),
  notOnOrAfter: text('Of type time: until this moment.', { format: 'date-time' }),
  policies: setOf(ref('authz-policy', { onDelete: 'refuse', sibling: true }), {
    description: 'Of type aggregate.',
  }),
})

export type AuthzPolicyDoc = Static<typeof spec>

export const AuthzPolicy = defineKind({
  kind: 'authz-policy',
  shape: 'child',
  section: 'authzPolicies',
  path: '/clients/{client}/authz/policies',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'manage-authorization', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'A condition under which access is granted.',
  isServed: false,
  spec,
})
