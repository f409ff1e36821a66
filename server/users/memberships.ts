/**
 * The roles that users hold directly, and the groups and organizations they are direct members of: reads, and changes as
 * statements for the transaction of the act they belong to.
 */

import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { Tables, UserGroupRow, UserRoleRow, UserRow } from '#server/storage/tables/tables.ts'
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
export const insertUserGroups = ({ db }: Db, rows: readonly UserGroupRow[]): Statement[] => [
  ...insertRows(db, 'user_groups', rows),
  ...noteMembers({ db }, rows),
]

const noteMembers = (storage: Db, rows: readonly UserGroupRow[]): Statement[] =>
  noteUserChanges(storage, [...new Set(rows.map(({ user_id }) => user_id))])

/** Changes nothing for users who are members already. */
export const joinGroups = ({ db }: Db, rows: readonly UserGroupRow[]): Statement[] =>
  inSlices(rows).map((part) =>
    statement(
      db
        .insertInto('user_groups')
        .values(part)
        .onConflict((conflict) => conflict.doNothing()),
    ),
  )

/** Direct members of the groups. */
export const membershipsIn = ({ db }: Db, groupIds: readonly string[]): Promise<UserGroupRow[]> =>
  readInSlices(groupIds, (part) =>
    db.selectFrom('user_groups').selectAll().where('group_id', 'in', part).execute(),
  )

/** Each row goes, if it is there. */
export const leaveGroups = ({ db }: Db, rows: readonly UserGroupRow[]): Statement[] => [
  ...[...Map.groupBy(rows, ({ group_id }) => group_id)].flatMap(([groupId, own]) =>
    inSlices(own.map(({ user_id }) => user_id)).map((ids) =>
      statement(
        db.deleteFrom('user_groups').where('group_id', '=', groupId).where('user_id', 'in', ids),
      ),
    ),
  ),
  ...noteMembers({ db }, rows),
]

/** The first statement changes no row where the user is a member already. */
export const joinGroup = (
  { db }: Db,
  userId: string,
  groupId: string,
): [change: Statement, ...Statement[]] => [
  statement(
    db
      .insertInto('user_groups')
      .values({ user_id: userId, group_id: groupId })
      .onConflict((conflict) => conflict.doNothing()),
  ),
  ...noteUserChanges({ db }, [userId]),
]

/** The first statement changes no row where the user is no member. */
export const leaveGroup = (
  { db }: Db,
  userId: string,
  groupId: string,
): [change: Statement, ...Statement[]] => [
  statement(
    db.deleteFrom('user_groups').where('user_id', '=', userId).where('group_id', '=', groupId),
  ),
  ...noteUserChanges({ db }, [userId]),
]

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

/** The default role for new users, by its key; to be run once the documents are written, since the role may be new too. */
export const assignDefaultRole = (
  { db }: Db,
  userIds: readonly string[],
  { realm, role }: { readonly realm: string; readonly role: string },
): Statement[] =>
  inSlices(userIds).map((ids) =>
    raw(
      db,
      sql`insert into user_roles (user_id, role_id, by_default)
        select users.id, documents.id, 1 from users, documents
        where users.id in (${sql.join(ids)})
          and documents.realm = ${realm} and documents.kind = 'role' and documents.key = ${role}
        on conflict (user_id, role_id) do nothing`,
    ),
  )

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
    statement(db.deleteFrom('user_groups').where('user_id', 'in', ids)),
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
        where from_id in (${sql.join(ids)}) and path = '/groups'`,
    ),
    // Who stays a member has joined when they joined.
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
