/**
 * Groups of a directory as groups of the realm. A sync makes groups at run time and fills them; a group that a file or a person
 * made is never taken over for its name, because its roles would go to every user that may name a group in the directory. Once made, a group
 * may be declared in a file, and keeps its members. Members who are no users of the directory are left alone.
 */

import type { GroupCounts, SyncFailure } from '#schemas/wire/directory-sync.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { UserGroupRow } from '#server/storage/tables/tables.ts'
import { insertUserGroups, leaveGroups, memberIdsIn } from '#server/users/memberships.ts'
import type { PlanGroupParts, PlannedGroups } from './plan-groups.ts'
import type { ReadGroups } from './read-groups.ts'
import { forgetGroups, insertGroups } from './sync-state.ts'
import type { ApplyInput } from './users/apply-users.ts'

export interface GroupParts extends PlanGroupParts {
  readonly recorder: Recorder
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
  const groups = read.groups.flatMap(({ subject, members }) => {
    const id = ids.get(subject)
    return id === undefined ? [] : [{ id, members }]
  })
  const { joins, leaves } = await planMembers(parts, groups, planned.forgotten, options.users)
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
    failures: planned.failures,
  }
}
