import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, id, name, oneOf, ref, setOf, text } from '../../marks.ts'

/** A part of the moment, in the time zone of the policy. */
const part = (description: string, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ minimum, maximum, description: `Of type time: ${description}` }))

const spec = fields({
  id: id(),
  name: name({ format: 'child-name' }),
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
  year: part('the year, or the first one of a range.', 1970, 9999),
  yearEnd: part('the last year of the range.', 1970, 9999),
  month: part('the month, or the first one of a range.', 1, 12),
  monthEnd: part('the last month of the range; 11 to 2 passes the new year.', 1, 12),
  dayMonth: part('the day of the month, or the first one of a range.', 1, 31),
  dayMonthEnd: part('the last day of the range; 28 to 3 passes the end of the month.', 1, 31),
  hour: part('the hour, or the first one of a range.', 0, 23),
  hourEnd: part('the last hour of the range; 22 to 6 passes midnight.', 0, 23),
  minute: part('the minute, or the first one of a range.', 0, 59),
  minuteEnd: part('the last minute of the range; 45 to 15 passes the full hour.', 0, 59),
  timeZone: Type.String({
    default: 'UTC',
    format: 'time-zone',
    maxLength: 64,
    description: 'Of type time: where year, month, dayMonth, hour and minute are read.',
  }),
  policies: setOf(ref('authz-policy', { onDelete: 'refuse', sibling: true }), {
    description: 'Of type aggregate: policies whose answers are combined by decisionStrategy.',
  }),
})

/** Policies on a way through aggregates: an answer is worked out by one call in the other. */
export const deepestPolicies = 100

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
