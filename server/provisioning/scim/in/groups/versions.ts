/** Counts the changes of members that senders make, for the ETag of a group. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { ScimGroupVersionRow } from '#server/storage/tables/scim-in-tables.ts'

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

/** Its failure goes to the caller, who reads the group again (server/realm/write/write.ts). */
const membersGuard = 'final:members'

/** The members change. Fails its guard where they changed since `seen`, if that is given. */
export const countChange = (
  { db }: Db,
  groupId: string,
  now: number,
  seen?: { readonly version: number },
): Statement[] => [
  statement(
    db
      .insertInto('scim_group_versions')
      .values({ group_id: groupId, version: 0, updated_at: now })
      .onConflict((conflict) => conflict.doNothing()),
  ),
  guarded(
    db
      .updateTable('scim_group_versions')
      .set((eb) => ({ version: eb('version', '+', 1), updated_at: now }))
      .where('group_id', '=', groupId)
      .$if(seen !== undefined, (query) => query.where('version', '=', seen?.version ?? 0)),
    membersGuard,
  ),
]
