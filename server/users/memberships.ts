/**
 * The roles that users hold directly, and the groups and organizations they are direct members of, as statements for the
 * transaction of the act they belong to.
 */

import { type Insertable, type Kysely, sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { Tables, UserGroupRow, UserRoleRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

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
export const insertUserGroups = ({ db }: Db, rows: readonly UserGroupRow[]): Statement[] =>
  insertRows(db, 'user_groups', rows)

/** Changes no row where the user is a member already. */
export const joinGroup = ({ db }: Db, userId: string, groupId: string): Statement =>
  statement(
    db
      .insertInto('user_groups')
      .values({ user_id: userId, group_id: groupId })
      .onConflict((conflict) => conflict.doNothing()),
  )

export const leaveGroup = ({ db }: Db, userId: string, groupId: string): Statement =>
  statement(
    db.deleteFrom('user_groups').where('user_id', '=', userId).where('group_id', '=', groupId),
  )

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
  ])

const raw = (db: Kysely<Tables>, query: ReturnType<typeof sql>): Statement =>
  statement({ compile: () => query.compile(db) })
