/**
 * The master realm keeps somebody who administers it: once the last one is gone or switched off, nobody could sign in to
 * administer anything, nor make another administrator.
 */

import { Group } from '#schemas/kinds/group.ts'
import { Role } from '#schemas/kinds/role.ts'
import { Problem } from '#schemas/problems.ts'
import type { Ranks } from '#server/accounts/permissions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { guarded } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables.ts'
import { masterRealm } from './realms.ts'

export interface LastAdminParts {
  readonly storage: Pick<Storage, 'db'>
  readonly ranks: Ranks
}

const administers = 'realm-admin'

/** Somebody else who can sign in and administers the realm, by a role or by a group. */
const anotherAdmin = async (
  { storage: { db }, ranks }: LastAdminParts,
  view: RealmView,
  userId: string,
): Promise<string | undefined> => {
  const roles: string[] = []
  for (const role of await view.list(Role.kind))
    if ((await ranks.permissionsOfRoles(view, [role])).has(administers)) roles.push(role.id)
  const groups: string[] = []
  for (const { id } of await view.list(Group.kind))
    if ((await ranks.permissionsOfGroup(view, id)).has(administers)) groups.push(id)
  const holders = db.selectFrom('user_roles').select('user_id').where('role_id', 'in', roles)
  const members = db.selectFrom('user_groups').select('user_id').where('group_id', 'in', groups)
  const found = await db
    .selectFrom('users')
    .select('id')
    .where('realm', '=', view.realm)
    .where('id', '!=', userId)
    .where('enabled', '=', 1)
    .where('locked', '=', 0)
    .where((eb) =>
      eb.or([
        ...(roles.length > 0 ? [eb('id', 'in', holders)] : []),
        ...(groups.length > 0 ? [eb('id', 'in', members)] : []),
      ]),
    )
    .executeTakeFirst()
  return found?.id
}

/**
 * For the transaction that deletes a user or switches one off: fails where the other administrator goes at the same moment.
 * Throws a 409 where there is no other.
 */
export const keepAnAdmin = async (
  parts: LastAdminParts,
  view: RealmView,
  user: UserRow,
): Promise<Statement[]> => {
  if (view.realm !== masterRealm || user.enabled !== 1 || user.locked !== 0) return []
  if (!(await parts.ranks.permissionsOf(view, user.id)).has(administers)) return []
  const other = await anotherAdmin(parts, view, user.id)
  if (other === undefined)
    throw new Problem(
      'conflict',
      `"${user.username}" is the last administrator of ${masterRealm}: make another one first`,
    )
  const stays = parts.storage.db
    .updateTable('users')
    .set((eb) => ({ version: eb.ref('version') }))
    .where('id', '=', other)
    .where('enabled', '=', 1)
    .where('locked', '=', 0)
  return [guarded(stays, 'last-admin')]
}
