/**
 * Changes the members of a group at a target, at most 100 in a request. A target may refuse a request because of one member, such as
 * one whom it no longer has. Then it is asked what it has, and the members are sent one by one: one of them holds up no other, and
 * what is so already is done.
 */

import type { Storage } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { ScimClient } from '../protocol/client.ts'
import type { Profile } from '../protocol/profiles.ts'
import { refusalOf, type ScimRefusal } from '../protocol/refusal.ts'
import type { SentMembers } from '../state/members.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'
import { memberIdsOf } from './group-resource.ts'
import type { Member, ProvisionAgain } from './provision-again.ts'

export interface SendMembersParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly resources: Resources
  readonly members: SentMembers
  readonly provisionAgain: ProvisionAgain
  readonly count: (done: 'updated') => void
}

/** A group at the target, and its members by their ids here with those at the target. */
export interface SentGroup {
  readonly id: string
  readonly remoteId: string
  /** How often it could not be sent before. */
  readonly failures: number
  readonly wanted: ReadonlyMap<string, string>
}

/** A group while its members are changed. */
interface ChangedGroup extends SentGroup {
  /** Whether members were sent before that stay. */
  readonly hasOthers: boolean
}

/** An addition or a removal of members. */
interface MemberChange {
  operationsOf(remoteIds: readonly string[]): readonly object[]
  /** Remembers that the target has the members so. */
  record(ids: readonly string[]): Promise<unknown>
  /**
   * The next step for a member whose request was refused, by whether the target has the user in the group (undefined where it does
   * not tell): the member is `done` already, is sent alone, or waits for the next run.
   */
  resolveRefused(
    member: Member,
    isMember: boolean | undefined,
  ): Promise<'done' | 'send-alone' | 'wait'>
}

/** AWS IAM Identity Center takes no more; others cut the rest off. */
const mostMembers = 100

const additionsOf = (ids: readonly string[]): readonly object[] => [
  { op: 'add', path: 'members', value: ids.map((value) => ({ value })) },
]

export const removalsOf = (
  ids: readonly string[],
  { removesMembersByValue }: Profile,
): readonly object[] =>
  removesMembersByValue
    ? [{ op: 'remove', path: 'members', value: ids.map((value) => ({ value })) }]
    : ids.map((id) => ({ op: 'remove', path: `members[value eq ${JSON.stringify(id)}]` }))

export const createSendMembers = (parts: SendMembersParts) => {
  const { storage, target, client, resources, members, provisionAgain, count } = parts
  const { profile } = target

  /** Asks whether users are in the group; a group that is gone is thrown as missing. */
  const membershipsIn = async ({
    remoteId,
    hasOthers,
  }: ChangedGroup): Promise<(remoteUser: string) => Promise<boolean | undefined>> => {
    const there = new Set(memberIdsOf(await client.read('Groups', remoteId)))
    if (profile.answersMembers)
      // A group without any members, where others were sent, may be one whose members are not answered.
      return async (id) => (there.size === 0 && hasOthers ? undefined : there.has(id))
    return async (id) => {
      let isMember: boolean | undefined
      const refusal = await refusalOf(async () => {
        isMember = await client.hasMember(remoteId, id)
      })
      return refusal ? undefined : isMember
    }
  }

  const patchMembers = async (
    { remoteId }: ChangedGroup,
    some: readonly Member[],
    { operationsOf, record }: MemberChange,
  ): Promise<ScimRefusal | undefined> => {
    const operations = operationsOf(some.map((one) => one.remoteId))
    const refusal = await refusalOf(() => client.patch('Groups', remoteId, operations))
    if (refusal) return refusal
    await record(some.map(({ id }) => id))
    count('updated')
    return undefined
  }

  /** The members of a refused request, one by one; the first refusal of those that are left. */
  const patchEach = async (
    group: ChangedGroup,
    part: readonly Member[],
    change: MemberChange,
    refusal: ScimRefusal,
  ): Promise<ScimRefusal | undefined> => {
    const isMember = await membershipsIn(group)
    let first: ScimRefusal | undefined
    for (const one of part) {
      const next = await change.resolveRefused(one, await isMember(one.remoteId))
      if (next === 'done') await change.record([one.id])
      else {
        const isSent = next === 'send-alone' && part.length > 1
        const refused = isSent ? await patchMembers(group, [one], change) : refusal
        first ??= refused
      }
    }
    return first
  }

  /** Ends with the first part in which a member is refused: a target that refuses all is not asked for thousands. */
  const patchInParts = async (
    group: ChangedGroup,
    all: readonly Member[],
    change: MemberChange,
  ): Promise<ScimRefusal | undefined> => {
    for (const part of inSlices(all, mostMembers)) {
      const refusal = await patchMembers(group, part, change)
      const left = refusal && (await patchEach(group, part, change, refusal))
      if (left) return left
    }
    return undefined
  }

  const addMembers = (group: ChangedGroup, joined: readonly Member[]) =>
    patchInParts(group, joined, {
      operationsOf: additionsOf,
      record: (ids) => storage.commit(members.add(target.id, group.id, ids)),
      resolveRefused: async (member, isMember) => {
        if (isMember === true) return 'done'
        if (await client.exists('Users', member.remoteId)) return 'send-alone'
        await provisionAgain(member, group.failures)
        return 'wait'
      },
    })

  /** Another member, whom the target has, shows that it answers users by their ids at all: else it tells nothing of this one. */
  const isGone = async ({ wanted }: SentGroup, remoteId: string): Promise<boolean> => {
    const [other] = wanted.values()
    if (other === undefined || !(await client.exists('Users', other))) return false
    return !(await client.exists('Users', remoteId))
  }

  const removeMembers = (group: ChangedGroup, left: readonly Member[]) =>
    patchInParts(group, left, {
      operationsOf: (remoteIds) => removalsOf(remoteIds, profile),
      record: (ids) => storage.commit(members.remove(target.id, group.id, ids)),
      resolveRefused: async ({ remoteId }, isMember) =>
        (isMember ?? !(await isGone(group, remoteId))) ? 'send-alone' : 'done',
    })

  return async (sentGroup: SentGroup): Promise<void> => {
    const { id, wanted } = sentGroup
    const sent = new Set(await members.ofGroup(target.id, id))
    const joined = [...wanted].flatMap(([user, remoteId]): Member[] =>
      sent.has(user) ? [] : [{ id: user, remoteId }],
    )
    const left = [...sent].filter((user) => !wanted.has(user))
    const rows = await resources.byIds(target.id, 'user', left)
    const remote = new Map(rows.map(({ local_id, remote_id }) => [local_id, remote_id]))
    const known = left.flatMap((user): Member[] => {
      const remoteId = remote.get(user)
      return remoteId ? [{ id: user, remoteId }] : []
    })
    // One whom the target no longer has is no member there.
    const gone = left.filter((user) => !remote.get(user))
    if (gone.length > 0) await storage.commit(members.remove(target.id, id, gone))
    const group = { ...sentGroup, hasOthers: sent.size > left.length }
    // Members who leave do not wait for one who cannot join.
    const refusals = [await addMembers(group, joined), await removeMembers(group, known)]
    const refusal = refusals.find((one) => one !== undefined)
    if (refusal) throw refusal
  }
}
