import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import {
  attributes,
  fields,
  id,
  name,
  readOnly,
  realmId,
  ref,
  restOnly,
  setOf,
  text,
  yamlOnly,
} from '../../marks.ts'

const spec = fields({
  groupId: id(),
  realmId: realmId(),
  name: name({ format: 'segment' }),
  parentId: restOnly(Type.String({ description: 'The group above it.' })),
  description: text('What the group is for.'),
  roles: yamlOnly(
    setOf(ref('role', { onDelete: 'detach', grants: true }), {
      description: 'Roles of every member; over REST they belong to /groups/{groupId}/roles.',
    }),
  ),
  clientRoles: yamlOnly(
    setOf(ref('client-role', { onDelete: 'detach', grants: true }), {
      description: 'Client roles of every member, as client/role.',
    }),
  ),
  attributes: attributes('Free-form values.'),
  memberCount: readOnly(Type.Integer({ description: 'Direct members.' })),
  roleNames: readOnly(Type.Array(Type.String(), { description: 'Roles granted to every member.' })),
})

export type GroupDoc = Static<typeof spec>

export const Group = defineKind({
  kind: 'group',
  shape: 'tree',
  section: 'groups',
  path: '/groups',
  pathKey: 'groupId',
  key: 'name',
  permission: { read: 'manage-organizations', write: 'manage-organizations' },
  prune: 'allowed',
  doc: 'A group of users, in a tree. Members hold its roles and those of the groups above it.',
  spec,
})
