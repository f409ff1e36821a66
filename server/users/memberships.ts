/**
 * The roles that users hold directly, and the groups and organizations they are direct members of: reads, and changes as
 * statements for the transaction of the act they belong to.
 */

import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { inSlices, insertRows, statement, uncounted } from '#server/storage/statements.ts'
import type { Tables, UserGroupRow, UserRoleRow, UserRow } from '#server/storage/tables/tables.ts'
import { countFollowing, countJoins, countLeaves } from './group-versions.ts'
import { noteUserChanges } from './user-changes.ts'

type Db = Pick<Storage, 'db'>

/** The ids of the roles and groups that a user has directly, in one query. */
export const rolesAndGroupsOf = preparedQuery(
  'roles-and-groups',
  (db, { userId }: { userId: string }) =>
    db
      .selectFrom('user_roles')
      .select([sql.lit(Role.kind).as('kind'), 'role_id as id'])
      .where('user_id', '=', userId)
      .unionAll(
        db
          .selectFrom('user_groups')
          .select([sql.lit(Group.kind).as('kind'), 'group_id as id'])
          .where('user_id', '=', userId),
      ),
)

export const userRolesOf = (
  { db }: Db,
  userIds: readonly string[],
): Promise<Selectable<UserRoleRow>[]> =>
  readInSlices(userIds, (part) =>
    db.selectFrom('user_roles').selectAll().where('user_id', 'in', part).execute(),
  )

export const userGroupsOf = ({ db }: Db, userIds: readonly string[]): Promise<UserGroupRow[]> =>
  readInSlices(userIds, (part) =>
    db.selectFrom('user_groups').selectAll().where('user_id', 'in', part).execute(),
  )

export const userOrganizationsOf = ({ db }: Db, userIds: readonly string[]) =>
  readInSlices(userIds, (part) =>
    db
      .selectFrom('organization_members')
      .select(['user_id', 'organization_id'])
      .where('user_id', 'in', part)
      .execute(),
  )

/** How many direct members groups have; a group without members is not in it. */
export const groupSizes = async (
  { db }: Db,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await readInSlices(groupIds, (part) =>
    db
      .selectFrom('user_groups')
      .select(['group_id', (eb) => eb.fn.countAll<number>().as('members')])
      .where('group_id', 'in', part)
      .groupBy('group_id')
      .execute(),
  )
  return new Map(rows.map(({ group_id, members }) => [group_id, Number(members)]))
}

/** By username. */
export const membersOfGroup = ({ db }: Db, id: string): Promise<UserRow[]> =>
  db
    .selectFrom('users')
    .innerJoin('user_groups', 'user_groups.user_id', 'users.id')
    .selectAll('users')
    .where('user_groups.group_id', '=', id)
    .orderBy('users.username_key')
    .execute()

/** By username. */
export const membersOfOrganization = ({ db }: Db, id: string): Promise<UserRow[]> =>
  db
    .selectFrom('users')
    .innerJoin('organization_members', 'organization_members.user_id', 'users.id')
    .selectAll('users')
    .where('organization_members.organization_id', '=', id)
    .orderBy('users.username_key')
    .execute()

export const isMemberOfOrganization = async (
  { db }: Db,
  userId: string,
  organizationId: string,
): Promise<boolean> => {
  const row = await db
    .selectFrom('organization_members')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return row !== undefined
}

/** For users who hold none of them yet. */
export const insertUserRoles = (
  { db }: Db,
  rows: readonly Insertable<UserRoleRow>[],
): Statement[] => insertRows(db, 'user_roles', rows)

/** Changes no row where the user holds the role already. */
export const assignRole = ({ db }: Db, userId: string, roleId: string): Statement =>
  statement(
    db
      .insertInto('user_roles')
      .values({ user_id: userId, role_id: roleId })
      .onConflict((conflict) => conflict.doNothing()),
  )

export const unassignRole = ({ db }: Db, userId: string, roleId: string): Statement =>
  statement(db.deleteFrom('user_roles').where('user_id', '=', userId).where('role_id', '=', roleId))

/** For users who are in none of them yet. */
export const insertUserGroups = (
  storage: Db,
  rows: readonly UserGroupRow[],
  now: number,
): Statement[] => [
  ...countJoins(storage, rows, now),
  ...insertRows(storage.db, 'user_groups', rows),
  ...noteMembers(storage, rows),
]

const noteMembers = (storage: Db, rows: readonly UserGroupRow[]): Statement[] =>
  noteUserChanges(storage, [...new Set(rows.map(({ user_id }) => user_id))])

/** Changes nothing for users who are members already. */
export const joinGroups = (
  storage: Db,
  rows: readonly UserGroupRow[],
  now: number,
): Statement[] => [
  ...countJoins(storage, rows, now),
  ...inSlices(rows).map((part) =>
    statement(
      storage.db
        .insertInto('user_groups')
        .values(part)
        .onConflict((conflict) => conflict.doNothing()),
    ),
  ),
  ...noteMembers(storage, rows),
]

/** The ids of the direct members of groups, by the id of the group: a row for each group, not for each member. */
export const memberIdsIn = async (
  { db }: Db,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = await readInSlices(groupIds, (part) =>
    db
      .selectFrom('user_groups')
      .select(['group_id', sql<string>`string_agg(user_id, ' ')`.as('members')])
      .where('group_id', 'in', part)
      .groupBy('group_id')
      .execute(),
  )
  return new Map(rows.map(({ group_id, members }) => [group_id, members.split(' ')]))
}

/** Each row goes, if it is there. */
export const leaveGroups = (
  storage: Db,
  rows: readonly UserGroupRow[],
  now: number,
): Statement[] => [
  ...countLeaves(storage, rows, now),
  ...[...Map.groupBy(rows, ({ group_id }) => group_id)].flatMap(([groupId, own]) =>
    inSlices(own.map(({ user_id }) => user_id)).map((ids) =>
      statement(
        storage.db
          .deleteFrom('user_groups')
          .where('group_id', '=', groupId)
          .where('user_id', 'in', ids),
      ),
    ),
  ),
  ...noteMembers(storage, rows),
]

/** One membership that begins or ends, for an act that is to know whether anything changed. */
export interface MembershipChange {
  readonly before: readonly Statement[]
  /** Changes no row where it is so already. */
  readonly change: Statement
  readonly after: readonly Statement[]
}

export const joinGroup = (storage: Db, row: UserGroupRow, now: number): MembershipChange => ({
  before: countJoins(storage, [row], now),
  change: statement(
    storage.db
      .insertInto('user_groups')
      .values(row)
      .onConflict((conflict) => conflict.doNothing()),
  ),
  after: noteMembers(storage, [row]),
})

export const leaveGroup = (storage: Db, row: UserGroupRow, now: number): MembershipChange => ({
  before: countLeaves(storage, [row], now),
  change: statement(
    storage.db
      .deleteFrom('user_groups')
      .where('user_id', '=', row.user_id)
      .where('group_id', '=', row.group_id),
  ),
  after: noteMembers(storage, [row]),
})

/** Changes no row where the user is a member already. */
export const joinOrganization = (
  { db }: Db,
  userId: string,
  organizationId: string,
  now: number,
): Statement =>
  statement(
    db
      .insertInto('organization_members')
      .values({ user_id: userId, organization_id: organizationId, joined_at: now })
      .onConflict((conflict) => conflict.doNothing()),
  )

export const leaveOrganization = ({ db }: Db, userId: string, organizationId: string): Statement =>
  statement(
    db
      .deleteFrom('organization_members')
      .where('user_id', '=', userId)
      .where('organization_id', '=', organizationId),
  )

interface DefaultRole {
  readonly realm: string
  readonly role: string
}

const givingRole = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  { realm, role }: DefaultRole,
) => {
  const query = sql`insert into user_roles (user_id, role_id, by_default)
    select users.id, documents.id, 1 from users, documents
    where users.id in (${sql.join(userIds)})
      and documents.realm = ${realm} and documents.kind = 'role' and documents.key = ${role}
    on conflict (user_id, role_id) do nothing`
  return { compile: () => query.compile(db) }
}

const giveRoleToOne = preparedStatement(
  (db, { id, realm, role }: { id: string; realm: string; role: string }) =>
    givingRole(db, [id], { realm, role }),
)

/** The default role for new users, by its key; to be run once the documents are written, since the role may be new too. */
export const assignDefaultRole = (
  { db }: Db,
  userIds: readonly string[],
  { realm, role }: DefaultRole,
): Statement[] => {
  const [id, ...others] = userIds
  if (id !== undefined && others.length === 0)
    return [uncounted(giveRoleToOne(db, { id, realm, role }))]
  return inSlices(userIds).map((ids) => statement(givingRole(db, ids, { realm, role })))
}

/**
 * Memberships of managed users follow the references of their documents, whatever keys those had a moment ago. To be run
 * once the references are written.
 */
export const followReferences = (
  { db }: Db,
  userIds: readonly string[],
  now: number,
): Statement[] =>
  inSlices(userIds).flatMap((ids) => [
    statement(db.deleteFrom('user_roles').where('user_id', 'in', ids).where('by_default', '=', 0)),
    ...countFollowing({ db }, ids, now),
    raw(
      db,
      sql`delete from user_groups where user_id in (${sql.join(ids)})
        and not exists (select 1 from document_refs
          where from_id = user_groups.user_id and path = '/groups'
          and to_id = user_groups.group_id)`,
    ),
    // A role that the document names is the document's to take away.
    raw(
      db,
      sql`insert into user_roles (user_id, role_id, by_default)
        select distinct from_id, to_id, 0 from document_refs
        where from_id in (${sql.join(ids)}) and path in ('/roles', '/clientRoles')
        on conflict (user_id, role_id) do update set by_default = 0`,
    ),
    raw(
      db,
      sql`insert into user_groups (user_id, group_id)
        select distinct from_id, to_id from document_refs
        where from_id in (${sql.join(ids)}) and path = '/groups'
        on conflict do nothing`,
    ),
    // A kept membership keeps its `joined_at`.
    raw(
      db,
      sql`delete from organization_members where user_id in (${sql.join(ids)})
        and not exists (select 1 from document_refs
          where from_id = organization_members.user_id and path = '/organizations'
          and to_id = organization_members.organization_id)`,
    ),
    raw(
      db,
      sql`insert into organization_members (user_id, organization_id, joined_at)
        select from_id, to_id, cast(${now} as bigint) from document_refs
        where from_id in (${sql.join(ids)}) and path = '/organizations'
        on conflict do nothing`,
    ),
    ...noteUserChanges({ db }, ids),
  ])

const raw = (db: Kysely<Tables>, query: ReturnType<typeof sql>): Statement =>
  statement({ compile: () => query.compile(db) })
