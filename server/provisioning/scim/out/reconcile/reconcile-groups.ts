/** Compares the groups of a target with those of the realm: names, and the members whom the target has. */

import { Group } from '#schemas/kinds/users/group.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { memberIdsIn } from '#server/users/memberships.ts'
import { memberIdsOf } from '../groups/group-resource.ts'
import type { RemoteResource } from '../protocol/client.ts'
import { isMissing, ScimRefusal } from '../protocol/refusal.ts'
import { groupName } from '../wanted.ts'
import type { Difference, ReconcileParts, ReconcileRequest } from './reconciliation.ts'

type Parts = Pick<ReconcileParts, 'storage' | 'resources' | 'members'> &
  Pick<ReconcileRequest, 'view' | 'target' | 'client'>

/** A group of the realm, with the group of the target that it was sent as. */
interface Pair {
  readonly id: string
  readonly name: string
  readonly row: ScimResourceRow
  readonly remote: RemoteResource
}

export const compareGroups = async (
  parts: Parts,
): Promise<{ readonly differences: readonly Difference[]; readonly compared: number }> => {
  const { storage, resources, members, view, target, client } = parts
  const { id: targetId } = target
  const rows = new Map((await resources.all(targetId, 'group')).map((row) => [row.local_id, row]))
  const taken = new Set([...rows.values()].flatMap(({ remote_id }) => remote_id ?? []))
  const users = await resources.all(targetId, 'user')
  const byRemote = new Map(users.flatMap((row) => (row.remote_id ? [[row.remote_id, row]] : [])))
  const sendable = new Set(
    users.flatMap((row) => (row.remote_id && row.present === 1 ? [row.local_id] : [])),
  )
  const differences: Difference[] = []
  let compared = 0

  const read = async (remoteId: string): Promise<RemoteResource | undefined> => {
    try {
      return await client.read('Groups', remoteId)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** The group that a run would adopt (groups/send-groups.ts). A target without such a filter refuses the run, and not the comparison. */
  const adoptable = async (name: string): Promise<RemoteResource | undefined> => {
    try {
      const found = await client.find('Groups', 'displayName', name)
      return found && !taken.has(found.id) ? found : undefined
    } catch (error) {
      if (error instanceof ScimRefusal && !error.isOfTarget) return undefined
      throw error
    }
  }

  const membersThere = async (id: string, remote: RemoteResource): Promise<readonly string[]> =>
    target.profile.answersMembers
      ? memberIdsOf(remote).flatMap((one) => byRemote.get(one)?.local_id ?? [])
      : members.ofGroup(targetId, id)

  /** Undefined where name and members are the same. Members that the target added by itself match no user of the realm. */
  const updateOf = async ({ id, name, row, remote }: Pair): Promise<Difference | undefined> => {
    const here = (await memberIdsIn(storage, [id])).get(id) ?? []
    const wanted = new Set(here.filter((user) => sendable.has(user)))
    const there = new Set(await membersThere(id, remote))
    const isRenamed = remote['displayName'] !== name
    const areOthers = wanted.size !== there.size || [...wanted].some((user) => !there.has(user))
    if (!areOthers && !isRenamed) return undefined
    const fields = [
      ...(isRenamed
        ? [{ field: 'displayName', before: String(remote['displayName']), after: name }]
        : []),
      ...(areOthers
        ? [{ field: 'members', before: `${there.size}`, after: `${wanted.size}` }]
        : []),
    ]
    return {
      id,
      change: { op: 'update', kind: 'group', name, fields },
      statements: [
        ...(isRenamed ? [resources.change(row, { sent: null })] : []),
        members.forgetGroup(targetId, id),
        ...members.add(targetId, id, [...there]),
      ],
    }
  }

  for (const { id, key } of await view.list(Group.kind)) {
    const name = groupName(key)
    const row = rows.get(id)
    rows.delete(id)
    const remote = row?.remote_id ? await read(row.remote_id) : undefined
    if (!row || !remote) {
      const statements = row ? [resources.change(row, { remote_id: null })] : []
      const op = (await adoptable(name)) ? 'adopt' : 'create'
      differences.push({ id, change: { op, kind: 'group', name, fields: [] }, statements })
      continue
    }
    compared += 1
    const update = await updateOf({ id, name, row, remote })
    if (update) differences.push(update)
  }
  // Rows that are left are of groups that were deleted here.
  for (const [id, { remote_id }] of rows) {
    const remote = remote_id === null ? undefined : await read(remote_id)
    if (!remote) continue
    const name = String(remote['displayName'] ?? id)
    differences.push({
      id,
      change: { op: 'delete', kind: 'group', name, fields: [] },
      statements: [],
    })
  }
  return { differences, compared }
}
