/**
 * Versions of the members of groups, for the ETag of a group in SCIM (RFC 7644 §3.14): members are no part of the document of a
 * group. Every function that changes members counts the change in the same transaction, and counts nothing where the members stay.
 */

import { type RawBuilder, sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { guarded, inSlices, statement } from '#server/storage/statements.ts'
import type { ScimGroupVersionRow } from '#server/storage/tables/scim-in-tables.ts'
import type { UserGroupRow } from '#server/storage/tables/tables.ts'

type Db = Pick<Storage, 'db'>

export const groupVersions = async (
  { db }: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ScimGroupVersionRow>> => {
  const rows = await readInSlices(ids, (part) =>
    db.selectFrom('scim_group_versions').selectAll().where('group_id', 'in', part).execute(),
  )
  return new Map(rows.map((row) => [row.group_id, row]))
}

/** One more change of every group that the query selects; in the order of their ids, so that no two transactions wait crosswise. */
const count = ({ db }: Db, groupIds: RawBuilder<unknown>, now: number): Statement => {
  const query = sql`insert into scim_group_versions (group_id, version, updated_at)
    select changed.group_id, 1, cast(${now} as bigint) from (${groupIds}) as changed
    where changed.group_id is not null order by changed.group_id
    on conflict (group_id) do update
      set version = scim_group_versions.version + 1, updated_at = excluded.updated_at`
  return statement({ compile: () => query.compile(db) })
}

const memberOf = sql`select 1 from user_groups
  where user_groups.user_id = given.user_id and user_groups.group_id = given.group_id`

/** The groups of the rows of which one fulfils the condition. */
const groupsOf = (rows: readonly UserGroupRow[], condition: RawBuilder<unknown>) => {
  const tuples = rows.map(({ user_id, group_id }) => sql`(${user_id}, ${group_id})`)
  return sql`with given (user_id, group_id) as (values ${sql.join(tuples)})
    select distinct given.group_id from given where ${condition}`
}

/** To be run before the rows are inserted. */
export const countJoins = (storage: Db, rows: readonly UserGroupRow[], now: number): Statement[] =>
  inSlices(rows).map((part) => count(storage, groupsOf(part, sql`not exists (${memberOf})`), now))

/** To be run before the rows are deleted. */
export const countLeaves = (storage: Db, rows: readonly UserGroupRow[], now: number): Statement[] =>
  inSlices(rows).map((part) => count(storage, groupsOf(part, sql`exists (${memberOf})`), now))

/** Of users who are about to be deleted. */
export const countDepartures = (
  storage: Db,
  userIds: readonly string[],
  now: number,
): Statement[] =>
  inSlices(userIds).map((ids) =>
    count(
      storage,
      sql`select distinct group_id from user_groups where user_id in (${sql.join(ids)})`,
      now,
    ),
  )

/** Of users whose memberships are about to follow the references of their documents. */
export const countFollowing = (storage: Db, userIds: readonly string[], now: number): Statement[] =>
  inSlices(userIds).map((ids) =>
    count(
      storage,
      sql`select user_groups.group_id from user_groups where user_id in (${sql.join(ids)})
          and not exists (select 1 from document_refs where from_id = user_groups.user_id
            and path = '/groups' and to_id = user_groups.group_id)
        union
        select to_id from document_refs where from_id in (${sql.join(ids)}) and path = '/groups'
          and not exists (select 1 from user_groups
            where user_groups.user_id = from_id and user_groups.group_id = to_id)`,
      now,
    ),
  )

/** Of groups whose child groups change, or their name at a sender; those that are deleted at the same moment are left out. */
export const countGroups = (storage: Db, groupIds: readonly string[], now: number): Statement[] =>
  inSlices(groupIds).map((ids) =>
    count(
      storage,
      sql`select id as group_id from documents where kind = 'group' and id in (${sql.join(ids)})`,
      now,
    ),
  )

/** Its failure goes to the caller, who reads the group again (server/realm/write/write.ts). */
const membersGuard = 'final:members'

/** Locks the members until the commit. Fails its guard where they changed since this version, or the group is gone. */
export const holdMembers = (
  { db }: Db,
  {
    groupId,
    version,
    now,
  }: { readonly groupId: string; readonly version: number; readonly now: number },
): Statement[] => {
  const first = sql`insert into scim_group_versions (group_id, version, updated_at)
    select id, 0, cast(${now} as bigint) from documents where id = ${groupId} on conflict do nothing`
  return [
    statement({ compile: () => first.compile(db) }),
    guarded(
      db
        .updateTable('scim_group_versions')
        .set((eb) => ({ version: eb.ref('version') }))
        .where('group_id', '=', groupId)
        .where('version', '=', version),
      membersGuard,
    ),
  ]
}
