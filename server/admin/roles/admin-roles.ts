/** Admin permissions of realm roles. There is no admin role to make or delete: grants are edited on roles. */

import { permissionCatalogue, permissionKeys } from '#schemas/access/permissions.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import { findIn } from '#server/realm/read/find.ts'
import { editOf, restChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Action, bodyOf } from '../action.ts'

const permissions = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', enum: permissionKeys },
} as const

const entrySchema = bodyOf({
  realmId: { type: 'string' },
  roleId: { type: 'string', format: 'uuid' },
  roleName: { type: 'string' },
  permissions,
})

const shown = (role: StoredDocument) => ({
  realmId: role.realm,
  roleId: role.id,
  roleName: role.key,
  permissions: contentOf<RoleDoc>(role).permissions,
})

export const listAdminRoles = (): Action => ({
  operationId: 'list-admin-roles',
  method: 'GET',
  path: '/admin-roles',
  permission: 'manage-roles',
  resourceType: 'admin-roles',
  summary: 'Realm roles with the admin permissions they hold',
  reply: { status: 200, schema: { type: 'array', items: entrySchema } },
  handle: async ({ view }) => (await view.list(Role.kind)).map(shown),
})

export const listPermissions = (): Action => ({
  operationId: 'list-permissions',
  method: 'GET',
  path: '/admin-roles/permissions',
  permission: 'manage-roles',
  resourceType: 'admin-roles',
  summary: 'The fixed catalogue of admin permissions',
  reply: {
    status: 200,
    schema: {
      type: 'array',
      items: bodyOf({ key: { type: 'string' }, label: { type: 'string' } }),
    },
  },
  handle: async () => permissionCatalogue,
})

export const setAdminRole = ({ writer }: { readonly writer: Writer }): Action => ({
  operationId: 'set-admin-role',
  method: 'PUT',
  path: '/admin-roles/:roleId',
  permission: 'realm-admin',
  resourceType: 'admin-roles',
  summary: 'Replaces the whole set of permissions of a role',
  body: bodyOf({ permissions }),
  reply: { status: 200, schema: entrySchema },
  handle: async ({ realm, view, caller, params, body }) => {
    const role = await findIn(view, Role, params['roleId'] ?? '')
    const { effects } = await writer.write({
      realm,
      caller,
      channel: restChannel,
      operations: [
        editOf(Role, role, (before) => ({ ...before, permissions: body['permissions'] })),
      ],
    })
    return shown(effects.find(({ after }) => after?.id === role.id)?.after ?? role)
  },
})
