/** Sends a group whole, to a target without PATCH. */

import type { Storage } from '#server/storage/contract.ts'
import type { FreeName } from '../free-name.ts'
import type { ScimClient } from '../protocol/client.ts'
import type { SentMembers } from '../state/members.ts'
import type { ScimTargetInUse } from '../target.ts'
import { coreGroup } from './group-resource.ts'
import type { Member } from './provision-again.ts'

export interface ReplaceGroupParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly members: SentMembers
  readonly freeName: FreeName
  readonly count: (done: 'updated') => void
}

export interface WholeGroup {
  readonly id: string
  readonly remoteId: string
  readonly displayName: string
  /** By their ids here, with those at the target. */
  readonly wanted: ReadonlyMap<string, string>
}

export const createReplaceGroup = (parts: ReplaceGroupParts) => {
  const { storage, target, client, members, freeName, count } = parts

  const replace = async (
    { id, remoteId, displayName }: WholeGroup,
    wanted: readonly Member[],
  ): Promise<void> => {
    await freeName(id, displayName, () =>
      client.replace('Groups', remoteId, {
        schemas: [coreGroup],
        displayName,
        externalId: id,
        members: wanted.map((one) => ({ value: one.remoteId })),
      }),
    )
    await storage.commit([
      members.forgetGroup(target.id, id),
      ...members.add(
        target.id,
        id,
        wanted.map((one) => one.id),
      ),
    ])
    count('updated')
  }

  return (group: WholeGroup): Promise<void> =>
    replace(
      group,
      [...group.wanted].map(([id, remoteId]): Member => ({ id, remoteId })),
    )
}
