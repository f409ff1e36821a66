/** Memberships of managed users follow the references of their documents, whatever keys those had a moment ago. */

import { type Kysely, sql } from 'kysely'
import type { Statement } from '#server/storage/contract.ts'
import { inSlices, statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables.ts'

/** To be run once the references are written. */
export const membershipStatements = (
  db: Kysely<Tables>,
  userIds: readonly string[],
  now: number,
): Statement[] => {
  const raw = (query: ReturnType<typeof sql>): Statement =>
    statement({ compile: () => query.compile(db) })
  const copyOf = (table: string, column: string, paths: readonly string[], ids: string[]) =>
    raw(sql`insert into ${sql.table(table)} (user_id, ${sql.ref(column)})
      select distinct from_id, to_id from document_refs
      where from_id in (${sql.join(ids)}) and path in (${sql.join(paths)})`)
  return inSlices(userIds).flatMap((ids) => [
    statement(db.deleteFrom('user_roles').where('user_id', 'in', ids)),
    statement(db.deleteFrom('user_groups').where('user_id', 'in', ids)),
    copyOf('user_roles', 'role_id', ['/roles', '/clientRoles'], ids),
    copyOf('user_groups', 'group_id', ['/groups'], ids),
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
