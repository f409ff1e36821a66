/**
 * Changes the members of a group at a target, at most 100 in a request. A target may refuse a request because of one member, such as
 * one whom it no longer has. Then it is asked what it has, and the members are sent one by one: one of them holds up no other, and
 * what is so already is done.
 */

import type { Storage } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { RemoteResource, ScimClient } from '../protocol/client.ts'
import type { Profile } from '../protocol/profiles.ts'
import { isOfRequest } from '../protocol/refusal.ts'
import { waitAfter } from '../send-users.ts'
import type { SentMembers } from '../state/members.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'

export interface SendMembersParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly resources: Resources
  readonly members: SentMembers
  readonly now: () => number
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

/** AWS IAM Identity Center takes no more; others cut the rest off. */
const mostMembers = 100

export const memberIdsOf = (group: RemoteResource): string[] => {
  const members = group['members']
  return Array.isArray(members) ? members.map(({ value }) => String(value)) : []
}

const additionsOf = (ids: readonly string[]): readonly object[] => [
  { op: 'add', path: 'members', value: ids.map((value) => ({ value })) },
]

const removalsOf = (
  ids: readonly string[],
  { removesMembersByValue }: Profile,
): readonly object[] =>
  removesMembersByValue
    ? [{ op: 'remove', path: 'members', value: ids.map((value) => ({ value })) }]
    : ids.map((id) => ({ op: 'remove', path: `members[value eq ${JSON.stringify(id)}]` }))

/** A member with the id here and the id at the target. */
type Member = readonly [string, string]

/** One way to change members. */
interface Way {
  operationsOf(remoteIds: readonly string[]): readonly object[]
  settle(ids: readonly string[]): Promise<unknown>
  /**
   * What a member comes to whose request was refused, by whether the target has them in the group (nothing where it does not tell):
   * `settled` is so already, `refused` cannot be sent now, `open` is sent.
   */
  judge(member: Member, isThere: boolean | undefined): Promise<'settled' | 'refused' | 'open'>
}

export const createSendMembers = (parts: SendMembersParts) => {
  const { storage, target, client, resources, members, now, count } = parts
  const { profile } = target

  /** Asks whether users are in the group; one that is gone is thrown as missing. */
  const membershipsIn = async (
    { remoteId }: SentGroup,
    hasOthers: boolean,
  ): Promise<(remoteUser: string) => Promise<boolean | undefined>> => {
    const there = new Set(memberIdsOf(await client.read('Groups', remoteId)))
    if (profile.answersMembers)
      // A group without any members, where others were sent, may be one whose members are not answered.
      return async (id) => (there.size === 0 && hasOthers ? undefined : there.has(id))
    return async (id) => {
      try {
        return await client.hasMember(remoteId, id)
      } catch (error) {
        if (isOfRequest(error)) return undefined
        throw error
      }
    }
  }

  const sendEach = async (
    group: SentGroup,
    part: readonly Member[],
    way: Way,
    hasOthers: boolean,
    first: unknown,
  ): Promise<void> => {
    const isThere = await membershipsIn(group, hasOthers)
    let refused: unknown
    for (const member of part) {
      const [id, remoteId] = member
      const outcome = await way.judge(member, await isThere(remoteId))
      if (outcome === 'settled') {
        await way.settle([id])
        continue
      }
      try {
        if (outcome === 'refused' || part.length === 1) throw first
        await client.patch('Groups', group.remoteId, way.operationsOf([remoteId]))
        await way.settle([id])
        count('updated')
      } catch (error) {
        if (!isOfRequest(error)) throw error
        refused ??= error
      }
    }
    if (refused !== undefined) throw refused
  }

  const send = async (
    group: SentGroup,
    all: readonly Member[],
    way: Way,
    hasOthers: boolean,
  ): Promise<void> => {
    for (const part of inSlices(all, mostMembers))
      try {
        const remoteIds = part.map(([, remoteId]) => remoteId)
        await client.patch('Groups', group.remoteId, way.operationsOf(remoteIds))
        await way.settle(part.map(([id]) => id))
        count('updated')
      } catch (error) {
        if (!isOfRequest(error)) throw error
        await sendEach(group, part, way, hasOthers, error)
      }
  }

  /**
   * The target no longer has the user: it gets them again, and the group with them. At once the first time, and then no sooner than
   * the group is tried again: a target may answer no user by the id.
   */
  const sendAgain = async (id: string, remoteId: string, failures: number): Promise<void> => {
    const [row] = await resources.byIds(target.id, 'user', [id])
    if (row?.remote_id !== remoteId) return
    const due_at = failures === 0 ? 0 : now() + waitAfter(failures)
    await storage.commit([
      ...resources.mark(target.id, 'user', [id]),
      resources.change(row, { remote_id: null, present: 0, due_at }),
    ])
  }

  const join = ({ id: group, failures }: SentGroup): Way => ({
    operationsOf: additionsOf,
    settle: (ids) => storage.commit(members.add(target.id, group, ids)),
    judge: async ([id, remoteId], isThere) => {
      if (isThere === true) return 'settled'
      if (await client.exists('Users', remoteId)) return 'open'
      await sendAgain(id, remoteId, failures)
      return 'refused'
    },
  })

  /** Another member, whom the target has, shows that it answers users by their ids at all: else it tells nothing of this one. */
  const isGone = async ({ wanted }: SentGroup, remoteId: string): Promise<boolean> => {
    const [other] = wanted.values()
    if (other === undefined || !(await client.exists('Users', other))) return false
    return !(await client.exists('Users', remoteId))
  }

  const leave = (group: SentGroup): Way => ({
    operationsOf: (remoteIds) => removalsOf(remoteIds, profile),
    settle: (ids) => storage.commit(members.remove(target.id, group.id, ids)),
    judge: async ([, remoteId], isThere) =>
      (isThere ?? !(await isGone(group, remoteId))) ? 'open' : 'settled',
  })

  return async (group: SentGroup): Promise<void> => {
    const { id, wanted } = group
    const sent = new Set(await members.ofGroup(target.id, id))
    const joined = [...wanted].filter(([user]) => !sent.has(user))
    const left = [...sent].filter((user) => !wanted.has(user))
    const hasOthers = sent.size > left.length
    const rows = await resources.byIds(target.id, 'user', left)
    const remote = new Map(rows.map(({ local_id, remote_id }) => [local_id, remote_id]))
    const known = left.flatMap((user): Member[] => {
      const remoteId = remote.get(user)
      return remoteId ? [[user, remoteId]] : []
    })
    // One whom the target no longer has is no member there.
    const gone = left.filter((user) => !remote.get(user))
    if (gone.length > 0) await storage.commit(members.remove(target.id, id, gone))
    let refused: unknown
    try {
      await send(group, joined, join(group), hasOthers)
    } catch (error) {
      // Members who leave do not wait for one who cannot join.
      if (!isOfRequest(error)) throw error
      refused = error
    }
    await send(group, known, leave(group), hasOthers)
    if (refused !== undefined) throw refused
  }
}
