import Type, { type Static } from 'typebox'
import { permissionKeys } from '../../access/permissions.ts'
import { defineKind } from '../../kind.ts'
import {
  attributes,
  fields,
  id,
  name,
  oneOf,
  readOnly,
  realmId,
  ref,
  setOf,
  text,
  yamlOnly,
} from '../../marks.ts'

const permission = oneOf(permissionKeys as [string, ...string[]])

const spec = fields({
  roleId: id(),
  realmId: realmId(),
  name: name({ format: 'segment' }),
  description: text('What holding it means.'),
  composites: setOf(ref('role', { onDelete: 'detach', grants: true }), {
    description: 'Roles that come with this one.',
  }),
  clientRoles: yamlOnly(
    setOf(ref('client-role', { onDelete: 'detach', grants: true }), {
      description: 'Client roles that come with this one, as client/role.',
    }),
  ),
  permissions: yamlOnly(
    setOf(permission, {
      description: 'Admin permissions; over REST they belong to /admin-roles.',
    }),
  ),
  attributes: attributes('Free-form values.'),
  default: readOnly(Type.Boolean({ description: "Whether it is the realm's default role." })),
})

export type RoleDoc = Static<typeof spec>

export const Role = defineKind({
  kind: 'role',
  shape: 'collection',
  section: 'roles',
  path: '/roles',
  pathKey: 'roleId',
  key: 'name',
  permission: { read: 'manage-roles', write: 'manage-roles' },
  prune: 'allowed',
  doc: 'A realm role. Users hold it directly, through a group, or through a role that contains it.',
  spec,
})
