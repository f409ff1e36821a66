/**
 * What a run looks at before it sends: whether the target is still at the same address, all users when the document of the target changed since they were last looked at, and the
 * names of groups. Users are marked in parts, and a run that ends early goes on where it was.
 */

import { Group } from '#schemas/kinds/users/group.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { ScimTargetRow } from '#server/storage/tables/scim-tables.ts'
import { userIdsAfter } from '#server/users/user-rows.ts'
import { digestOf, groupNameDigest } from './digests.ts'
import type { SentMembers } from './state/members.ts'
import type { Resources } from './state/resources.ts'
import type { Standings } from './state/standings.ts'
import type { ScimTargetInUse } from './target.ts'
import { groupName } from './wanted.ts'

export interface MarkParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly view: RealmView
  readonly target: ScimTargetInUse
  readonly resources: Resources
  readonly members: SentMembers
  readonly standings: Standings
  readonly signal: AbortSignal
}

const partSize = 1000

/** Whether what is known of the target is about another address: an id there may be that of another person here. */
export const isElsewhere = ({ root }: ScimTargetInUse, { base_url }: ScimTargetRow): boolean =>
  base_url !== null && base_url !== root

/** All users are looked at again, from the first on. */
const markAll = (
  { resources, members, standings, target }: MarkParts,
  before: ScimTargetRow,
): Statement[] => [
  ...(isElsewhere(target, before)
    ? [resources.forgetAll(target.id), members.forgetAll(target.id)]
    : [resources.markAll(target.id, 'user'), resources.markAll(target.id, 'group')]),
  standings.change(target.id, {
    version: target.version,
    marked_after: '',
    groups_mark: null,
    base_url: target.root,
  }),
]

const markGroups = async (parts: MarkParts, before: ScimTargetRow): Promise<void> => {
  const { storage, view, target, resources, standings } = parts
  if (!target.sendsGroups && !target.filtersByGroups) return
  const groups = await view.list(Group.kind)
  const mark = digestOf(groups.map(({ id, key }) => [id, key]))
  if (mark === before.groups_mark) return
  const rows = new Map((await resources.all(target.id, 'group')).map((row) => [row.local_id, row]))
  const here = new Set(groups.map(({ id }) => id))
  const stale = [
    ...groups
      .filter(({ id, key }) => rows.get(id)?.sent !== groupNameDigest(groupName(key)))
      .map(({ id }) => id),
    ...[...rows.keys()].filter((id) => !here.has(id)),
  ]
  // A group that was renamed or deleted decides who is sent.
  const again = target.filtersByGroups && before.groups_mark !== null ? { marked_after: '' } : {}
  await storage.commit([
    ...(target.sendsGroups ? resources.mark(target.id, 'group', stale) : []),
    standings.change(target.id, { groups_mark: mark, ...again }),
  ])
}

const markUsers = async (parts: MarkParts): Promise<void> => {
  const { storage, target, resources, standings, signal } = parts
  let after = (await standings.read(target.id))?.marked_after ?? null
  while (after !== null) {
    signal.throwIfAborted()
    const ids = await userIdsAfter(storage, target.realm, after, partSize)
    const next: string | null = ids.length < partSize ? null : (ids.at(-1) ?? null)
    await storage.commit([
      ...resources.mark(target.id, 'user', ids),
      standings.change(target.id, { marked_after: next }),
    ])
    after = next
  }
}

export const markChanges = async (parts: MarkParts, before: ScimTargetRow): Promise<void> => {
  const { storage, target } = parts
  const isChanged = before.version !== target.version
  if (isChanged) await storage.commit(markAll(parts, before))
  else if (before.base_url === null)
    await storage.commit([parts.standings.change(target.id, { base_url: target.root })])
  await markGroups(parts, isChanged ? { ...before, groups_mark: null } : before)
  if (target.doc.syncUsers) await markUsers(parts)
}
