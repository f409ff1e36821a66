/** Roles that a user holds directly: list, assign, take away. */

import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import { findIn } from '#server/realm/read/find.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { givenByHand } from '#server/users/links/mapped-memberships.ts'
import { assignRole, unassignRole, userRolesOf } from '#server/users/memberships.ts'
import { type Action, type ActionContext, bodyOf, noContent } from '../action.ts'
import { ignoreDone, unlessDone } from '../credentials/already.ts'
import { changeManagedUser } from './managed-user.ts'
import { type UserParts, userEvent, userIn, userToChange } from './users.ts'

const roleSchema = bodyOf({
  roleId: { type: 'string', format: 'uuid' },
  name: { type: 'string' },
  description: { type: ['string', 'null'] },
})

const shown = (role: StoredDocument) => ({
  roleId: role.id,
  name: role.key,
  description: contentOf<RoleDoc>(role).description ?? null,
})

const common = { permission: 'manage-users', resourceType: 'users' } as const

export const listUserRoles = (parts: UserParts): Action => ({
  ...common,
  operationId: 'list-user-roles',
  method: 'GET',
  path: '/users/:userId/roles',
  permission: 'view-users',
  summary: 'Realm roles that the user holds directly',
  reply: { status: 200, schema: { type: 'array', items: roleSchema } },
  handle: async (context) => {
    const user = await userIn(parts, context)
    const rows = await userRolesOf(parts.storage, [user.id])
    const roles = await Promise.all(rows.map(({ role_id }) => context.view.byId('role', role_id)))
    return roles.filter((role) => role !== undefined).map(shown)
  },
})

/** A caller grants only permissions that the caller holds. */
const refuseGrant = async (
  { ranks }: UserParts,
  { view, caller }: ActionContext,
  role: StoredDocument,
): Promise<void> => {
  for (const permission of await ranks.permissionsOfRoles(view, [role]))
    if (!caller.permissions.has(permission))
      throw new Problem('forbidden', `the role grants ${permission}, which you do not hold`)
}

export const assignUserRole = (parts: UserParts): Action => ({
  ...common,
  operationId: 'assign-user-role',
  method: 'POST',
  events: ['ADMIN_UPDATE'],
  path: '/users/:userId/roles',
  summary: 'Gives the user a realm role, by its name',
  body: bodyOf({ name: { type: 'string', minLength: 1 } }),
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    const role = await findIn(context.view, Role, String(context.body['name']))
    await refuseGrant(parts, context, role)
    if (user.managed === 1)
      return changeManagedUser(parts, context, user, ({ roles }) => ({
        roles: [...roles.filter((name) => name !== role.key), role.key],
      }))
    const given = userEvent(context, 'ADMIN_UPDATE', user.id, `role ${role.key} assigned`)
    const { recorder, storage } = parts
    await ignoreDone(recorder.commit([unlessDone(assignRole(storage, user.id, role.id))], [given]))
    // Held through a mapper of an identity provider until now: from now on it stays.
    return ignoreDone(
      recorder.commit([unlessDone(givenByHand(storage, user.id, role.id))], [given]),
    )
  },
})

export const unassignUserRole = (parts: UserParts): Action => ({
  ...common,
  operationId: 'unassign-user-role',
  method: 'DELETE',
  events: ['ADMIN_UPDATE'],
  path: '/users/:userId/roles/:roleId',
  summary: 'Takes a realm role from the user',
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    const role = await findIn(context.view, Role, context.params['roleId'] ?? '')
    // The default role is not of the document, unless that names it.
    const document = user.managed === 1 ? await context.view.byId(User.kind, user.id) : undefined
    if (document && contentOf<UserDoc>(document).roles.includes(role.key))
      return changeManagedUser(parts, context, user, ({ roles }) => ({
        roles: roles.filter((name) => name !== role.key),
      }))
    const removal = unlessDone(unassignRole(parts.storage, user.id, role.id))
    return ignoreDone(
      parts.recorder.commit(
        await parts.lastAdmin.aroundData(context.view, [user], [removal], role),
        [userEvent(context, 'ADMIN_UPDATE', user.id, `role ${role.key} taken away`)],
      ),
    )
  },
})
