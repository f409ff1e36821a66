/** The reads for declared users: for all of them at once, in a few queries. */

import { effectivePermissions, type Permission } from '#schemas/access/permissions.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Organization } from '#schemas/kinds/users/organization.ts'
import type { Problem } from '#schemas/problems.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userGroupsOf, userOrganizationsOf, userRolesOf } from '#server/users/memberships.ts'
import { foldName } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { usersIn } from '#server/users/user-rows.ts'
import { ownersOfUsers } from '../read/senders.ts'
import { mayTakeOver, ownedByOthers } from '../rules/owners.ts'
import type { Draft } from '../write/drafts.ts'
import type { PrepareTools } from './behaviour.ts'

type Tools = Pick<PrepareTools, 'db' | 'realm'>

/** For a document that exists, or that is restored. */
const knownId = ({ id, before, lastVersion }: Draft): string | undefined =>
  before?.id ?? (lastVersion === undefined ? undefined : id)

/** The row of each document's user, by its id or, of a new document, by its name. */
export const usersOf = async (
  drafts: readonly Draft[],
  tools: Tools,
): Promise<(draft: Draft) => UserRow | undefined> => {
  const [known, named] = await Promise.all([
    usersIn(
      tools,
      tools.realm,
      'id',
      drafts.flatMap((draft) => knownId(draft) ?? []),
    ),
    usersIn(
      tools,
      tools.realm,
      'username_key',
      drafts.flatMap((draft) => (knownId(draft) === undefined ? foldName(draft.key) : [])),
    ),
  ])
  const byId = new Map(known.map((row) => [row.id, row]))
  const byName = new Map(named.map((row) => [row.username_key, row]))
  return (draft) => {
    const id = knownId(draft)
    return id === undefined ? byName.get(foldName(draft.key)) : byId.get(id)
  }
}

/** Keys are compared byte for byte, names of users are not: under which key a user is declared already. */
export const declaredKeys = async (
  userIds: readonly string[],
  { db }: Tools,
): Promise<ReadonlyMap<string, string>> => {
  const rows = await readInSlices(userIds, (part) =>
    db.selectFrom('documents').select(['id', 'key']).where('id', 'in', part).execute(),
  )
  return new Map(rows.map(({ id, key }) => [id, key]))
}

/** Which of the users hold a permission that the caller does not: their password would be a way in. */
export const outrankingAmong = async (
  userIds: readonly string[],
  tools: Pick<PrepareTools, 'db' | 'caller'>,
  { ranks, view }: { readonly ranks: Ranks; readonly view: RealmView | undefined },
): Promise<ReadonlyMap<string, Permission>> => {
  const { caller } = tools
  const found = new Map<string, Permission>()
  if (!view || caller.permissions.has('realm-admin')) return found
  const missing = new Map<string, Permission | undefined>()
  const lacking = (granted: ReadonlySet<Permission>): Permission | undefined =>
    [...effectivePermissions(granted)].find((permission) => !caller.permissions.has(permission))
  const missingOf = async (kind: 'role' | 'group', id: string): Promise<Permission | undefined> => {
    if (!missing.has(id)) {
      const role = kind === 'role' ? await view.byId('role', id) : undefined
      const granted =
        kind === 'group'
          ? await ranks.permissionsOfGroup(view, id)
          : await ranks.permissionsOfRoles(view, role ? [role] : [])
      missing.set(id, lacking(granted))
    }
    return missing.get(id)
  }
  const note = async (kind: 'role' | 'group', userId: string, id: string): Promise<void> => {
    const permission = await missingOf(kind, id)
    if (permission) found.set(userId, permission)
  }
  const roles = await userRolesOf(tools, userIds)
  const groups = await userGroupsOf(tools, userIds)
  for (const { user_id, role_id } of roles) await note('role', user_id, role_id)
  for (const { user_id, group_id } of groups) await note('group', user_id, group_id)
  return found
}

/** A user who exists leaves the groups and organizations that its new document does not name, as members are removed. */
export const leavesOthers = async (
  adopted: ReadonlyMap<string, Draft>,
  tools: Pick<PrepareTools, 'db' | 'caller' | 'drafts'>,
): Promise<Draft | undefined> => {
  if (tools.caller.permissions.has('manage-organizations')) return undefined
  const ids = [...adopted.keys()]
  const named = (kind: string, keys: unknown, id: string): boolean =>
    ((keys ?? []) as readonly string[]).some((key) => tools.drafts.find(kind, key)?.id === id)
  const left = (await userGroupsOf(tools, ids)).find(
    ({ user_id, group_id }) => !named(Group.kind, adopted.get(user_id)?.body?.['groups'], group_id),
  )
  const gone = (await userOrganizationsOf(tools, ids)).find(
    ({ user_id, organization_id }) =>
      !named(Organization.kind, adopted.get(user_id)?.body?.['organizations'], organization_id),
  )
  return adopted.get((left ?? gone)?.user_id ?? '')
}

/** Users that a sender provisions over SCIM and the file of an estate declares: the two would overwrite each other. */
export const ownedBySenders = async (
  adopted: ReadonlyMap<string, Draft>,
  { db, channel }: Pick<PrepareTools, 'db' | 'channel'>,
): Promise<ReadonlyMap<Draft, Problem>> => {
  if (mayTakeOver(channel)) return new Map()
  const owners = await ownersOfUsers(db, [...adopted.keys()])
  return new Map(
    [...adopted].flatMap(([id, draft]) => {
      const owner = owners.get(id)
      const place = { kind: draft.kind.kind, key: draft.key }
      return owner === undefined ? [] : [[draft, ownedByOthers([{ ...place, owner }])]]
    }),
  )
}

/** A permission that a role grants and the caller lacks. A role that is new is checked where it is made. */
export const beyondCaller = async (
  role: string,
  { caller }: Pick<PrepareTools, 'caller'>,
  { ranks, view }: { readonly ranks: Ranks; readonly view: RealmView | undefined },
): Promise<Permission | undefined> => {
  if (!view || caller.permissions.has('realm-admin')) return undefined
  const document = await view.get('role', role)
  const granted = await ranks.permissionsOfRoles(view, document ? [document] : [])
  return [...granted].find((permission) => !caller.permissions.has(permission))
}
