/** What a target should have of users: decided from the users as they are now, whatever happened to them since. */

import { Group } from '#schemas/kinds/users/group.ts'
import { lookupIn, matchesScimFilter } from '#schemas/text/scim-filter-match.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { type Digests, digestOf } from './digests.ts'
import type { ScimTargetInUse } from './target.ts'
import { attributesOf, resourceOf, type ScimAttributes, userNameIn } from './user-resource.ts'

/** A user as the target should have it; `gone`: deleted, or not one of those who are sent. */
export type Wanted =
  | { readonly kind: 'present'; readonly user: UserRow; readonly attributes: ScimAttributes }
  | { readonly kind: 'gone'; readonly user: UserRow | undefined }

export interface WantedParts {
  readonly storage: Pick<Storage, 'db'>
  readonly view: RealmView
  readonly target: ScimTargetInUse
}

/** The name of a group at a target: its path, which is unique as names of groups at targets must be. */
export const groupName = (key: string): string => key.replace(/^\//, '')

/** The names of the groups of users, by user; none where nothing asks for them. */
const groupsOf = async (
  { storage, view, target }: WantedParts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly { value: string; display: string }[]>> => {
  if (!target.filtersByGroups) return new Map()
  const names = new Map((await view.list(Group.kind)).map(({ id, key }) => [id, groupName(key)]))
  const rows = await userGroupsOf(storage, ids)
  return new Map(
    [...Map.groupBy(rows, ({ user_id }) => user_id)].map(([user, own]) => [
      user,
      own.map(({ group_id }) => ({ value: group_id, display: names.get(group_id) ?? '' })),
    ]),
  )
}

/** By the id of the user. */
export const wantedOf = async (
  parts: WantedParts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Wanted>> => {
  const { storage, target } = parts
  const { filter, realm } = target
  const found = await usersByIds(storage, ids)
  const users = new Map(found.filter((user) => user.realm === realm).map((user) => [user.id, user]))
  const groups = await groupsOf(parts, ids)
  const wanted = (id: string): Wanted => {
    const user = users.get(id)
    if (!user) return { kind: 'gone', user }
    const attributes = attributesOf(user, target)
    const asked = {
      ...resourceOf(attributes),
      groups: groups.get(id) ?? [],
      attributes: fieldsOf(user).attributes,
    }
    return filter && !matchesScimFilter(filter, lookupIn(asked))
      ? { kind: 'gone', user }
      : { kind: 'present', user, attributes }
  }
  return new Map(ids.map((id) => [id, wanted(id)]))
}

/** The username of a user at the target, also of a user that is no longer provisioned there. */
export const userNameOf = async (
  parts: WantedParts,
  id: string,
): Promise<{ readonly name: string; readonly isSent: boolean } | undefined> => {
  const wanted = (await wantedOf(parts, [id])).get(id)
  const name = wanted?.user && userNameIn(attributesOf(wanted.user, parts.target))
  return name === undefined ? undefined : { name, isSent: wanted?.kind === 'present' }
}

export const sentOf = ({ sent }: ScimResourceRow): Digests =>
  sent === null ? {} : (JSON.parse(sent) as Digests)

const active = digestOf(true)

/** Whether the target loses a user who is active there. */
export const isRemoval = (row: ScimResourceRow, wanted: Wanted): boolean =>
  row.remote_id !== null &&
  row.present === 1 &&
  (sentOf(row)['active'] ?? active) === active &&
  (wanted.kind === 'gone' || wanted.attributes['active'] === false)
