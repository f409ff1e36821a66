/** Memberships of managed users follow the references of their documents, whatever keys those had a moment ago. */

import { type Kysely, sql } from 'kysely'
import type { Statement } from '#server/storage/contract.ts'
import { inSlices, statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'

/** New users get the default role, as from every other door; once the documents are written, since the role may be new too. */
export const defaultRoleStatements = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  { realm, role }: { readonly realm: string; readonly role: string },
): Statement[] =>
  inSlices(userIds).map((ids) =>
    statement({
      compile: () =>
        sql`insert into user_roles (user_id, role_id, by_default)
          select users.id, documents.id, 1 from users, documents
          where users.id in (${sql.join(ids)})
            and documents.realm = ${realm} and documents.kind = 'role' and documents.key = ${role}
          on conflict (user_id, role_id) do nothing`.compile(db),
    }),
  )

/** To be run once the references are written. */
export const membershipStatements = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  now: number,
): Statement[] => {
  const raw = (query: ReturnType<typeof sql>): Statement =>
    statement({ compile: () => query.compile(db) })
  return inSlices(userIds).flatMap((ids) => [
    statement(db.deleteFrom('user_roles').where('user_id', 'in', ids).where('by_default', '=', 0)),
    statement(db.deleteFrom('user_groups').where('user_id', 'in', ids)),
    // A role that the document names is the document's to take away.
    raw(sql`insert into user_roles (user_id, role_id, by_default)
      select distinct from_id, to_id, 0 from document_refs
      where from_id in (${sql.join(ids)}) and path in ('/roles', '/clientRoles')
      on conflict (user_id, role_id) do update set by_default = 0`),
    raw(sql`insert into user_groups (user_id, group_id)
      select distinct from_id, to_id from document_refs
      where from_id in (${sql.join(ids)}) and path = '/groups'`),
    // Who stays a member has joined when they joined.
    raw(sql`delete from organization_members where user_id in (${sql.join(ids)})
      and not exists (select 1 from document_refs
        where from_id = organization_members.user_id and path = '/organizations'
        and to_id = organization_members.organization_id)`),
    raw(sql`insert into organization_members (user_id, organization_id, joined_at)
      select from_id, to_id, cast(${now} as bigint) from document_refs
      where from_id in (${sql.join(ids)}) and path = '/organizations'
      on conflict do nothing`),
  ])
}
