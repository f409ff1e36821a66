/** The members that the groups of a target have, as far as they were sent. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { ScimMemberRow } from '#server/storage/tables/scim-tables.ts'

type Db = Pick<Storage, 'db'>

export const createSentMembers = ({ db }: Db) => {
  const of = (target: string) =>
    db.selectFrom('scim_members').selectAll().where('target_id', '=', target)
  const without = (target: string) => db.deleteFrom('scim_members').where('target_id', '=', target)

  return {
    ofUsers: (target: string, userIds: readonly string[]): Promise<ScimMemberRow[]> =>
      readInSlices(userIds, (part) => of(target).where('user_id', 'in', part).execute()),

    ofGroup: async (target: string, group: string): Promise<string[]> => {
      const rows = await of(target).where('group_id', '=', group).execute()
      return rows.map(({ user_id }) => user_id)
    },

    /** For members that are not in it yet. */
    add: (target: string, group: string, userIds: readonly string[]): Statement[] =>
      insertRows(
        db,
        'scim_members',
        userIds.map((user_id) => ({ target_id: target, group_id: group, user_id })),
      ),

    remove: (target: string, group: string, userIds: readonly string[]): Statement[] =>
      inSlices(userIds).map((part) =>
        statement(without(target).where('group_id', '=', group).where('user_id', 'in', part)),
      ),

    /** The target no longer has the group, or begins anew with it. */
    forgetGroup: (target: string, group: string): Statement =>
      statement(without(target).where('group_id', '=', group)),

    /** The target is another service now. */
    forgetAll: (target: string): Statement => statement(without(target)),

    /** The target no longer has the user. */
    forgetUser: (target: string, user: string): Statement =>
      statement(without(target).where('user_id', '=', user)),
  }
}

export type SentMembers = ReturnType<typeof createSentMembers>
