/**
 * Groups of a directory as groups of the realm. A sync makes groups at run time and fills them; a group that a file or a person
 * made is never taken over for its name, because its roles would go to every user that may name a group in the directory. Once made, a group
 * may be declared in a file, and keeps its members. Members who are no users of the directory are left alone.
 */

import { formats } from '#schemas/text/formats.ts'
import type { GroupCounts, SyncFailure } from '#schemas/wire/directory-sync.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { UserGroupRow } from '#server/storage/tables/tables.ts'
import { insertUserGroups, leaveGroups, memberIdsIn } from '#server/users/memberships.ts'
import type { Directory } from '../directory.ts'
import type { ApplyInput } from './apply-users.ts'
import { SyncRefused } from './errors.ts'
import type { GroupDocuments, GroupOperation } from './group-documents.ts'
import type { ReadGroup, ReadGroups } from './read-groups.ts'
import { forgetGroups, groupsMadeFor, insertGroups } from './sync-state.ts'

export interface GroupParts {
  readonly storage: Pick<Storage, 'db'>
  readonly recorder: Recorder
  readonly documents: GroupDocuments
}

export interface GroupOutcome {
  readonly counts: GroupCounts
  readonly failures: readonly SyncFailure[]
}

interface Planned {
  readonly operations: readonly GroupOperation[]
  /** Groups of the directory that have a document already. */
  readonly kept: ReadonlyMap<string, string>
  /** To be made, by name. */
  readonly made: ReadonlyMap<string, ReadGroup>
  /** Documents that are no longer of the directory. */
  readonly forgotten: readonly string[]
  readonly failures: readonly SyncFailure[]
  readonly counts: Pick<GroupCounts, 'added' | 'updated' | 'removed'>
}

const partSize = 5000
/** Memberships of so many groups are compared at once. */
const groupsAtOnce = 20
const isName = (name: string): boolean =>
  name.length <= 255 && formats['segment']?.test(name) === true

const planGroups = async (
  { storage, documents }: GroupParts,
  directory: Directory,
  read: ReadGroups,
): Promise<Planned> => {
  const mapped = await groupsMadeFor(storage, directory.id)
  if (mapped.length > 0 && read.groups.length === 0)
    throw new SyncRefused(
      'directory',
      'the search finds no group, and there were some: see groupSearchBase and groupFilter',
    )
  const known = await documents.list(directory.realm)
  const byId = new Map(known.map((group) => [group.id, group]))
  const names = new Set(known.map(({ name }) => name))
  const bySubject = new Map(mapped.map((row) => [row.subject, row.document_id]))
  const present = new Set(read.groups.map(({ subject }) => subject))
  const operations: GroupOperation[] = []
  const failures: SyncFailure[] = [...read.failures]
  const kept = new Map<string, string>()
  const made = new Map<string, ReadGroup>()
  const gone = mapped.filter(({ subject }) => !present.has(subject))
  for (const { document_id } of gone) {
    const group = byId.get(document_id)
    if (!group?.isRuntime) continue
    operations.push({ op: 'delete', name: group.name })
    names.delete(group.name)
  }
  const deleted = operations.length
  for (const group of read.groups) {
    const { name, subject } = group
    const own = byId.get(bySubject.get(subject) ?? '')
    if (own) kept.set(subject, own.id)
    if (own?.name === name || (own && !own.isRuntime)) continue
    if (!isName(name)) failures.push({ name, problem: 'a group cannot have this name' })
    else if (names.has(name))
      failures.push({ name, problem: 'there is a group of this name that is not of the directory' })
    else {
      names.add(name)
      if (own) {
        names.delete(own.name)
        operations.push({ op: 'rename', from: own.name, name })
      } else {
        made.set(name, group)
        operations.push({ op: 'create', name })
      }
    }
  }
  return {
    operations,
    kept,
    made,
    forgotten: gone.map(({ document_id }) => document_id),
    failures,
    counts: {
      added: made.size,
      updated: operations.length - deleted - made.size,
      removed: gone.length,
    },
  }
}

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
  options: {
    /** Ids of the users by subject. */
    readonly users: ReadonlyMap<string, string>
    readonly dryRun: boolean
  },
): Promise<GroupOutcome> => {
  const { storage, recorder, documents } = parts
  const { directory, by, hold, now } = input
  const planned = await planGroups(parts, directory, read)
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
