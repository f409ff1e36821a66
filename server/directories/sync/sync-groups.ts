/**
 * Groups of a directory as groups of the realm. A sync makes groups at run time and fills them; a group that a file or a person
 * made is never taken over for its name, because its roles would go to every user that may name a group in the directory. Once made, a group
 * may be declared in a file, and keeps its members. Members who are no users of the directory are left alone. A group that
 * grants an admin permission gets no members from a sync: a holder of manage-identity-providers chooses the server that names
 * them (docs/decisions/identity-providers-and-administrators.md).
 */

import type { GroupCounts, SyncFailure } from '#schemas/wire/directory-sync.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { UserGroupRow } from '#server/storage/tables/tables.ts'
import { insertUserGroups, leaveGroups, memberIdsIn } from '#server/users/memberships.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { Directory } from '../directory.ts'
import type { PlanGroupParts, PlannedGroups } from './plan-groups.ts'
import type { ReadGroups } from './read-groups.ts'
import { forgetGroups, insertGroups } from './sync-state.ts'
import type { ApplyInput } from './users/apply-users.ts'

export interface GroupParts extends PlanGroupParts {
  readonly copy: Copy
  readonly recorder: Recorder
  readonly ranks: Pick<Ranks, 'permissionsOfGroup'>
}

export interface GroupOutcome {
  readonly counts: GroupCounts
  readonly failures: readonly SyncFailure[]
}

const partSize = 5000
/** Memberships of so many groups are compared at once. */
const groupsAtOnce = 20

/** What members join and leave; of users who are linked to the directory alone. Some groups at a time. */
const planMembers = async (
  { storage }: GroupParts,
  groups: readonly { readonly id: string; readonly members: ReadonlySet<string> }[],
  forgotten: readonly string[],
  users: ReadonlyMap<string, string>,
): Promise<{ joins: UserGroupRow[]; leaves: UserGroupRow[] }> => {
  const joins: UserGroupRow[] = []
  const surplus: UserGroupRow[] = []
  const nobody: ReadonlySet<string> = new Set()
  const wanted = [...groups, ...forgotten.map((id) => ({ id, members: nobody }))]
  for (const part of inSlices(wanted, groupsAtOnce)) {
    const before = await memberIdsIn(
      storage,
      part.map(({ id }) => id),
    )
    for (const { id: group_id, members } of part) {
      const left = new Set(before.get(group_id))
      for (const subject of members) {
        const user_id = users.get(subject)
        if (user_id !== undefined && !left.delete(user_id)) joins.push({ user_id, group_id })
      }
      for (const user_id of left) surplus.push({ user_id, group_id })
    }
  }
  if (surplus.length === 0) return { joins, leaves: [] }
  const linked = new Set(users.values())
  return { joins, leaves: surplus.filter(({ user_id }) => linked.has(user_id)) }
}

/** The joins that a directory may decide about, and the groups whose members it may not add. */
const refuseAdministration = async (
  { copy, ranks }: GroupParts,
  { realm }: Directory,
  joins: readonly UserGroupRow[],
  names: ReadonlyMap<string, string>,
): Promise<{ joins: readonly UserGroupRow[]; failures: readonly SyncFailure[] }> => {
  const perGroup = new Map<string, number>()
  for (const { group_id } of joins) perGroup.set(group_id, (perGroup.get(group_id) ?? 0) + 1)
  const view = perGroup.size > 0 ? await copy.fresh(realm) : undefined
  if (!view) return { joins, failures: [] }
  const refused = new Set<string>()
  const failures: SyncFailure[] = []
  for (const [groupId, count] of perGroup) {
    const [held] = await ranks.permissionsOfGroup(view, groupId)
    if (held === undefined) continue
    refused.add(groupId)
    const members = count === 1 ? '1 member is' : `${count} members are`
    failures.push({
      name: names.get(groupId) ?? groupId,
      problem: `the group grants ${held}: ${members} not added, because a directory adds no members to such a group; assign the role to users, or to a group that is not of the directory`,
    })
  }
  return { joins: joins.filter(({ group_id }) => !refused.has(group_id)), failures }
}

export const syncGroups = async (
  parts: GroupParts,
  input: ApplyInput,
  read: ReadGroups,
  planned: PlannedGroups,
  options: {
    /** Ids of the users by subject. */
    readonly users: ReadonlyMap<string, string>
    readonly dryRun: boolean
  },
): Promise<GroupOutcome> => {
  const { storage, recorder, documents } = parts
  const { directory, by, hold, now } = input
  const ids = new Map(planned.kept)
  // Of a dry run: the groups that would be made have no members yet.
  for (const { subject } of planned.made.values()) ids.set(subject, `new ${subject}`)
  if (!options.dryRun && (planned.operations.length > 0 || planned.forgotten.length > 0))
    await documents.write({
      realm: directory.realm,
      by,
      operations: planned.operations,
      alongside: (created): Statement[] => {
        for (const [name, { subject }] of planned.made) ids.set(subject, created.get(name) ?? '')
        return [
          hold(),
          ...forgetGroups(storage, planned.forgotten),
          ...insertGroups(
            storage,
            [...planned.made].map(([name, { subject }]) => ({
              document_id: created.get(name) ?? '',
              provider: directory.id,
              subject,
            })),
          ),
        ]
      },
    })
  const groups = read.groups.flatMap(({ subject, name, members }) => {
    const id = ids.get(subject)
    return id === undefined ? [] : [{ id, name, members }]
  })
  const moves = await planMembers(parts, groups, planned.forgotten, options.users)
  const names = new Map(groups.map(({ id, name }) => [id, name]))
  const { joins, failures } = await refuseAdministration(parts, directory, moves.joins, names)
  const { leaves } = moves
  if (!options.dryRun) {
    for (const part of inSlices(joins, partSize))
      await recorder.commit([hold(), ...insertUserGroups(storage, part, now)], [])
    for (const part of inSlices(leaves, partSize))
      await recorder.commit([hold(), ...leaveGroups(storage, part, now)], [])
    const moved = joins.length + leaves.length
    if (moved > 0)
      await recorder.append(
        [],
        [
          {
            type: 'ADMIN_ACTION',
            realm: directory.realm,
            ...by,
            outcome: 'SUCCESS',
            resourceType: 'user-federation',
            resourceId: directory.alias,
            detail: `members of groups: ${joins.length} joined, ${leaves.length} left`,
          },
        ],
      )
  }
  return {
    counts: { ...planned.counts, joined: joins.length, left: leaves.length },
    failures: [...planned.failures, ...failures],
  }
}
