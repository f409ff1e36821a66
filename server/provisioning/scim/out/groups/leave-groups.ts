/**
 * Takes a deleted user out of the groups of a target where the account stays: the next user of that name gets the account, and
 * would be in its groups.
 */

import type { Statement } from '#server/storage/contract.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import type { ScimClient } from '../protocol/client.ts'
import { isMissing, refusalOf } from '../protocol/refusal.ts'
import type { SentMembers } from '../state/members.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'
import { memberIdsOf } from './group-resource.ts'
import { removalsOf } from './send-members.ts'

export interface LeaveGroupsParts {
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly resources: Resources
  readonly members: SentMembers
}

export const createLeaveGroups = ({ target, client, resources, members }: LeaveGroupsParts) => {
  const { profile } = target

  const isMember = async (group: string, user: string): Promise<boolean> =>
    profile.answersMembers
      ? memberIdsOf(await client.read('Groups', group)).includes(user)
      : client.hasMember(group, user)

  const leave = async (group: string, user: string): Promise<void> => {
    try {
      const refusal = await refusalOf(() =>
        client.patch('Groups', group, removalsOf([user], profile)),
      )
      if (refusal && (await isMember(group, user))) throw refusal
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  /** Returns the statements that the caller commits. */
  return async ({
    local_id: user,
    remote_id: remoteUser,
  }: ScimResourceRow): Promise<Statement[]> => {
    const sent = await members.ofUsers(target.id, [user])
    if (!target.sendsGroups || remoteUser === null || sent.length === 0) return []
    const groups = sent.map(({ group_id }) => group_id)
    // Without PATCH a group is sent as a whole, after the users.
    if (!profile.patches) return resources.mark(target.id, 'group', groups)
    for (const { remote_id } of await resources.byIds(target.id, 'group', groups))
      if (remote_id !== null) await leave(remote_id, remoteUser)
    return []
  }
}
