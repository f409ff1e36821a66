/**
 * Sends a group whole, to a target without PATCH. The target may refuse the group because of one member whom it no longer has.
 * Then it gets the group without the lost members, so that they hold up no other, and the group again once it has them.
 */

import type { Storage } from '#server/storage/contract.ts'
import type { FreeName } from '../free-name.ts'
import type { ScimClient } from '../protocol/client.ts'
import { refusalOf } from '../protocol/refusal.ts'
import type { SentMembers } from '../state/members.ts'
import type { ScimTargetInUse } from '../target.ts'
import { coreGroup, memberIdsOf } from './group-resource.ts'
import type { Member, ProvisionAgain } from './provision-again.ts'

export interface ReplaceGroupParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly members: SentMembers
  readonly freeName: FreeName
  readonly provisionAgain: ProvisionAgain
  readonly count: (done: 'updated') => void
}

export interface WholeGroup {
  readonly id: string
  readonly remoteId: string
  readonly displayName: string
  /** How often it could not be sent before. */
  readonly failures: number
  /** By their ids here, with those at the target. */
  readonly wanted: ReadonlyMap<string, string>
}

export const createReplaceGroup = (parts: ReplaceGroupParts) => {
  const { storage, target, client, members, freeName, provisionAgain, count } = parts

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

  const missingOf = async (some: readonly Member[]): Promise<Member[]> => {
    const missing: Member[] = []
    for (const one of some) if (!(await client.exists('Users', one.remoteId))) missing.push(one)
    return missing
  }

  /** Those whom the group at the target has are asked for only where the others are all there: a group may have thousands. */
  const lostOf = async (remoteId: string, wanted: readonly Member[]): Promise<Member[]> => {
    const there = new Set(memberIdsOf(await client.read('Groups', remoteId)))
    const lost = await missingOf(wanted.filter((one) => !there.has(one.remoteId)))
    return lost.length > 0 ? lost : missingOf(wanted.filter((one) => there.has(one.remoteId)))
  }

  return async (group: WholeGroup): Promise<void> => {
    const wanted = [...group.wanted].map(([id, remoteId]): Member => ({ id, remoteId }))
    const refusal = await refusalOf(() => replace(group, wanted))
    if (!refusal) return
    const lost = await lostOf(group.remoteId, wanted)
    for (const one of lost) await provisionAgain(one, group.failures)
    if (lost.length > 0)
      await refusalOf(() =>
        replace(
          group,
          wanted.filter((one) => !lost.includes(one)),
        ),
      )
    throw refusal
  }
}
