/**
 * What a user may administer: the permissions of the realm roles they hold directly, through their groups and
 * the groups above, and through composites. Evaluated on every admin request, so that a change takes effect on the next one.
 */

import { effectivePermissions, type Permission } from '#schemas/access/permissions.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { Group, type GroupDoc } from '#schemas/kinds/users/group.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import { Problem } from '#schemas/problems.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { rolesAndGroupsOf } from './memberships.ts'

/** Where roles and groups are looked up. */
export type Granting = Pick<RealmView, 'get' | 'byId'>

export interface Ranks {
  /** Effective permissions of a user, by the roles they hold. */
  permissionsOf(view: Granting, userId: string): Promise<ReadonlySet<Permission>>
  /** Effective permissions that holding these roles amounts to. */
  permissionsOfRoles(
    view: Granting,
    roles: readonly StoredDocument[],
  ): Promise<ReadonlySet<Permission>>
  /** Effective permissions of the service account of a client, by the realm roles that it holds. */
  permissionsOfServiceAccount(
    view: Granting,
    client: Pick<ClientDoc, 'serviceAccountRoles'>,
  ): Promise<ReadonlySet<Permission>>
  /** Effective permissions that being in this group amounts to. */
  permissionsOfGroup(view: Granting, groupId: string): Promise<ReadonlySet<Permission>>
  /** A user is changed only by callers that hold all of its permissions: a new password is a way in. */
  refuseUnlessOutranked(
    view: Granting,
    permissions: ReadonlySet<Permission>,
    userId: string,
  ): Promise<void>
}

export const createRanks = ({ db }: Pick<Storage, 'db'>): Ranks => {
  const rolesOfGroups = async (view: Granting, ids: readonly string[]): Promise<string[]> => {
    const names: string[] = []
    const queue = [...ids]
    const seen = new Set<string>()
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      const group = seen.has(id) ? undefined : await view.byId('group', id)
      seen.add(id)
      if (!group) continue
      names.push(...contentOf<GroupDoc>(group).roles)
      if (group.parentId !== null) queue.push(group.parentId)
    }
    return names
  }

  const named = async (view: Granting, names: readonly string[]): Promise<StoredDocument[]> => {
    const found = await Promise.all(names.map((name) => view.get('role', name)))
    return found.filter((role) => role !== undefined)
  }

  const closure = async (
    view: Granting,
    start: readonly StoredDocument[],
  ): Promise<ReadonlySet<Permission>> => {
    const granted = new Set<Permission>()
    const seen = new Set<string>()
    const queue = [...start]
    for (let role = queue.pop(); role; role = queue.pop()) {
      if (seen.has(role.id)) continue
      seen.add(role.id)
      const { permissions, composites } = contentOf<RoleDoc>(role)
      for (const permission of permissions) granted.add(permission as Permission)
      for (const name of composites) {
        const inner = await view.get('role', name)
        if (inner) queue.push(inner)
      }
    }
    return effectivePermissions(granted)
  }

  const permissionsOf: Ranks['permissionsOf'] = async (view, userId) => {
    const held = await rolesAndGroupsOf(db, { userId })
    const idsOf = (wanted: string): string[] =>
      held.flatMap(({ kind, id }) => (kind === wanted ? [id] : []))
    const roles: StoredDocument[] = []
    for (const id of idsOf(Role.kind)) {
      const role = await view.byId(Role.kind, id)
      if (role) roles.push(role)
    }
    const through = await rolesOfGroups(view, idsOf(Group.kind))
    return closure(view, [...roles, ...(await named(view, through))])
  }

  return {
    permissionsOf,
    permissionsOfRoles: closure,
    permissionsOfServiceAccount: async (view, { serviceAccountRoles }) =>
      closure(view, await named(view, serviceAccountRoles)),
    permissionsOfGroup: async (view, groupId) =>
      closure(view, await named(view, await rolesOfGroups(view, [groupId]))),
    refuseUnlessOutranked: async (view, permissions, userId) => {
      if (permissions.has('realm-admin')) return
      for (const held of await permissionsOf(view, userId))
        if (!permissions.has(held))
          throw new Problem('forbidden', `the user holds ${held}, which you do not`)
    },
  }
}
