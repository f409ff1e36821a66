import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, name, oneOf, ref, setOf, text } from '../../marks.ts'

const spec = fields({
  id: id(),
  name: name({ format: 'segment' }),
  description: text('Description.'),
  type: oneOf(['role', 'client-role', 'group', 'client', 'user', 'time', 'aggregate']),
  logic: oneOf(['POSITIVE', 'NEGATIVE'], {
    default: 'POSITIVE',
    description: 'NEGATIVE permits where the condition does not hold.',
  }),
  decisionStrategy: oneOf(['AFFIRMATIVE', 'UNANIMOUS', 'CONSENSUS'], {
    default: 'UNANIMOUS',
    description: 'Of type aggregate: any policy permits, all permit, or more permit than deny.',
  }),
  roles: setOf(ref('role', { onDelete: 'refuse' }), { description: 'Of type role.' }),
  clientRoles: setOf(ref('client-role', { onDelete: 'refuse' }), {
    description: 'Of type client-role, as client/role.',
  }),
  groups: setOf(ref('group', { onDelete: 'refuse' }), { description: 'Of type group, as /path.' }),
  extendChildren: flag(false, 'Of type group: whether members of the groups below count too.'),
  clients: setOf(ref('client', { onDelete: 'refuse' }), { description: 'Of type client.' }),
  users: setOf(Type.String({ minLength: 1, maxLength: 255 }), {
    description: 'Of type user: usernames, or ids, which outlive a change of the username.',
  }),
  notBefore: text('Of type time: from this moment.', { format: 'date-time' }),
  notOnOrAfter: text('Of type time: until this moment.', { format: 'date-time' }),
  policies: setOf(ref('authz-policy', { onDelete: 'refuse', sibling: true }), {
    description: 'Of type aggregate: policies whose answers are combined by decisionStrategy.',
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
  spec,
})
