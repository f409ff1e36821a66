/**
 * Roles and groups that imported users had elsewhere: given where the realm has them, counted where it does not. Each is held
 * against the permissions of the caller once, however many users have it: an import grants nothing that its caller lacks.
 */

import type { Kind } from '#schemas/kind.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { Problem } from '#schemas/problems.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { assignRole, joinGroups } from '#server/users/memberships.ts'
import type { ActionContext } from '../../action.ts'
import type { UserParts } from '../users.ts'
import type { ImportedUser } from './import-body.ts'

/** Documents that users of the import name and the realm does not have. */
export interface Missing {
  readonly kind: string
  readonly key: string
  readonly users: number
}

export interface Memberships {
  /** Ids of the roles and client roles that the user gets. */
  rolesOf(user: ImportedUser): string[]
  groupsOf(user: ImportedUser): string[]
  readonly missing: readonly Missing[]
}

const fields = [
  { field: 'roles', kind: Role },
  { field: 'clientRoles', kind: ClientRole },
  { field: 'groups', kind: Group },
] as const

type Field = (typeof fields)[number]['field']

const refuseGrant = async (
  { ranks }: UserParts,
  { view, caller }: ActionContext,
  document: StoredDocument,
): Promise<void> => {
  const granted =
    document.kind === Group.kind
      ? await ranks.permissionsOfGroup(view, document.id)
      : await ranks.permissionsOfRoles(view, document.kind === Role.kind ? [document] : [])
  for (const permission of granted)
    if (!caller.permissions.has(permission))
      throw new Problem(
        'forbidden',
        `${document.kind} "${document.key}" grants ${permission}, which you do not hold: no user was imported`,
      )
}

export const openMemberships = async (
  parts: UserParts,
  context: ActionContext,
  users: readonly ImportedUser[],
): Promise<Memberships> => {
  const found = new Map<Field, Map<string, string>>()
  const missing: Missing[] = []
  const look = async (field: Field, kind: Kind): Promise<void> => {
    const counts = new Map<string, number>()
    for (const user of users)
      for (const key of new Set(user[field])) counts.set(key, (counts.get(key) ?? 0) + 1)
    // A change of group members needs the permission for groups, also through an import.
    if (
      kind === Group &&
      counts.size > 0 &&
      !context.caller.permissions.has('manage-organizations')
    )
      throw new Problem(
        'forbidden',
        'assigning groups needs manage-organizations: no user was imported',
      )
    const ids = new Map<string, string>()
    for (const [key, count] of counts) {
      const document = await context.view.get(kind.kind, key)
      if (!document) missing.push({ kind: kind.kind, key, users: count })
      else {
        await refuseGrant(parts, context, document)
        ids.set(key, document.id)
      }
    }
    found.set(field, ids)
  }
  for (const { field, kind } of fields) await look(field, kind)
  const idsOf = (user: ImportedUser, field: Field): string[] =>
    (user[field] ?? []).flatMap((key) => found.get(field)?.get(key) ?? [])
  return {
    rolesOf: (user) => [...new Set([...idsOf(user, 'roles'), ...idsOf(user, 'clientRoles')])],
    groupsOf: (user) => [...new Set(idsOf(user, 'groups'))],
    missing,
  }
}

/** A user who exists keeps what they have and gets the rest. */
export const joinStatements = (
  { storage, clock }: UserParts,
  userId: string,
  roles: readonly string[],
  groups: readonly string[],
): Statement[] => [
  ...roles.map((roleId) => assignRole(storage, userId, roleId)),
  ...joinGroups(
    storage,
    groups.map((group_id) => ({ user_id: userId, group_id })),
    clock.now(),
  ),
]
