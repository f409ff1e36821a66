/**
 * Makes the groups of a target equal to those here: names, and the members that the target has. A change of a member is a change of
 * that member; a member whom the target added by itself is left alone.
 */

import { Group } from '#schemas/kinds/users/group.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { memberIdsIn } from '#server/users/memberships.ts'
import { digestOf, groupNameDigest } from '../digests.ts'
import { createFreeName, setOne } from '../free-name.ts'
import type { ScimClient } from '../protocol/client.ts'
import { isMissing } from '../protocol/refusal.ts'
import { createFaults, failed, settled } from '../retries.ts'
import type { Done } from '../send-user.ts'
import type { SentMembers } from '../state/members.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'
import { groupName, sentOf } from '../wanted.ts'
import { coreGroup } from './group-resource.ts'
import { createProvisionAgain } from './provision-again.ts'
import { createReplaceGroup } from './replace-group.ts'
import { createSendMembers } from './send-members.ts'

export interface SendGroupsParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly view: RealmView
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly resources: Resources
  readonly members: SentMembers
  readonly now: () => number
  readonly count: (done: Done | 'failed') => void
  readonly signal: AbortSignal
}

export const createSendGroups = (parts: SendGroupsParts) => {
  const { storage, view, target, client, resources, members, now, count, signal } = parts
  const faults = createFaults()
  const provisionAgain = createProvisionAgain({ storage, target, resources, now })
  const sendMembers = createSendMembers({
    storage,
    target,
    client,
    resources,
    members,
    provisionAgain,
    count,
  })
  const freeName = createFreeName({
    storage,
    target,
    resources,
    client,
    kind: 'group',
    nameOf: async (id) => {
      const group = await view.byId(Group.kind, id)
      return group && { name: groupName(group.key), isSent: true }
    },
  })
  const replaceGroup = createReplaceGroup({
    storage,
    target,
    client,
    members,
    freeName,
    provisionAgain,
    count,
  })

  const remove = async (row: ScimResourceRow): Promise<void> => {
    try {
      if (row.remote_id !== null) await client.remove('Groups', row.remote_id)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    await storage.commit([members.forgetGroup(target.id, row.local_id), resources.forget(row)])
    count('deleted')
  }

  /** The group at the target: found by its name, or made. */
  const locate = async (row: ScimResourceRow, displayName: string): Promise<string> => {
    const found = await client.find('Groups', 'displayName', displayName)
    const isTaken =
      found && (await resources.byRemoteIds(target.id, 'group', [found.id])).length > 0
    const { id } =
      found && !isTaken
        ? found
        : await freeName(row.local_id, displayName, () =>
            client.create('Groups', {
              schemas: [coreGroup],
              displayName,
              externalId: row.local_id,
            }),
          )
    await storage.commit([
      members.forgetGroup(target.id, row.local_id),
      resources.change(row, { remote_id: id, attempted: 1, present: 1 }),
    ])
    count(found && !isTaken ? 'adopted' : 'created')
    return id
  }

  /** Ids at the target of those whom it should have as members, by the id here. */
  const wantedMembers = async (group: string): Promise<ReadonlyMap<string, string>> => {
    const ids = (await memberIdsIn(storage, [group])).get(group) ?? []
    const rows = await resources.byIds(target.id, 'user', ids)
    return new Map(
      rows.flatMap(({ local_id, remote_id, present }) =>
        remote_id !== null && present === 1 ? [[local_id, remote_id] as const] : [],
      ),
    )
  }

  const equalize = async (row: ScimResourceRow, key: string): Promise<void> => {
    const displayName = groupName(key)
    const isNew = row.remote_id === null
    const remoteId = row.remote_id ?? (await locate(row, displayName))
    const wanted = await wantedMembers(row.local_id)
    const group = { id: row.local_id, remoteId, failures: row.failures, wanted }
    const isRenamed = !isNew && sentOf(row)['displayName'] !== digestOf(displayName)
    if (!target.profile.patches) {
      await replaceGroup({ ...group, displayName })
      return
    }
    if (isRenamed) {
      await freeName(row.local_id, displayName, () =>
        setOne({ target, client }, 'Groups', remoteId, ['displayName', displayName]),
      )
      count('updated')
    }
    await sendMembers(group)
  }

  const sendOne = async (row: ScimResourceRow): Promise<void> => {
    const group = await view.byId(Group.kind, row.local_id)
    if (!group) return remove(row)
    try {
      await equalize(row, group.key)
    } catch (error) {
      // A 404 may also be that of a member.
      if (!isMissing(error) || row.remote_id === null) throw error
      if (await client.exists('Groups', row.remote_id)) throw error
      // Deleted at the target: it gets the group again, with all members.
      await storage.commit([resources.change(row, { remote_id: null })])
      await equalize({ ...row, remote_id: null }, group.key)
    }
    const sent = groupNameDigest(groupName(group.key))
    await storage.commit([settled(resources, row, { present: 1, sent })])
  }

  return async (rows: readonly ScimResourceRow[]): Promise<void> => {
    for (const row of rows) {
      signal.throwIfAborted()
      try {
        await sendOne(row)
        faults.none()
      } catch (error) {
        if (signal.aborted) throw error
        count('failed')
        await storage.commit([failed(resources, row, error, now())])
        if (faults.isTooMany(error)) throw error
      }
    }
  }
}
