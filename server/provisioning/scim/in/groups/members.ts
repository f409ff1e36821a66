/**
 * Members of groups. A change of members lists those that join and those that leave, so that one member into a group of ten thousand
 * costs what one member costs; only a change that states all members reads them.
 */

import type { ScimFilter } from '#schemas/text/scim-filter.ts'
import type { Storage } from '#server/storage/contract.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { invalidPath, invalidValue, mutability } from '../errors.ts'
import type { Change } from '../patch/operations.ts'
import type { Target } from '../patch/target.ts'
import type { Complex, Value } from '../schema/attribute.ts'
import { readChosen, readValue } from '../values.ts'

/** What the members shall be: all of them, or a difference. */
export interface MemberChange {
  /** All members, where they are stated. */
  exact: Set<string> | undefined
  readonly join: Set<string>
  readonly leave: Set<string>
}

export const noChange = (): MemberChange => ({
  exact: undefined,
  join: new Set(),
  leave: new Set(),
})

export const idsIn = (members: Value): string[] =>
  ((members ?? []) as readonly Complex[]).map((one) => {
    const id = one['value']
    if (typeof id !== 'string')
      throw invalidValue('a member needs a value, the id of a user or group')
    return id.toLowerCase()
  })

export const exactly = (ids: readonly string[]): MemberChange => ({
  ...noChange(),
  exact: new Set(ids),
})

/** The ids of `value eq "…" or value eq "…"`. */
const idsOfFilter = (filter: ScimFilter): string[] => {
  if (filter.op === 'or') return filter.terms.flatMap(idsOfFilter)
  if (
    filter.op === 'eq' &&
    filter.path.name.toLowerCase() === 'value' &&
    filter.path.sub === undefined &&
    typeof filter.value === 'string'
  )
    return [filter.value.toLowerCase()]
  throw invalidPath('members are chosen by "value eq", joined by "or"')
}

const takeOut = (change: MemberChange, ids: readonly string[]): void => {
  for (const id of ids) {
    if (change.exact) change.exact.delete(id)
    else change.leave.add(id)
    change.join.delete(id)
  }
}

const takeIn = (change: MemberChange, ids: readonly string[]): void => {
  for (const id of ids) {
    if (change.exact) change.exact.add(id)
    else change.join.add(id)
    change.leave.delete(id)
  }
}

const stateAll = (change: MemberChange, ids: readonly string[]): void => {
  change.exact = new Set(ids)
  change.join.clear()
  change.leave.clear()
}

/** Adds what one operation of a PATCH says of members. */
export const changeMembers = (
  change: MemberChange,
  { op, value }: Change,
  { attribute, filter, sub }: Target,
): void => {
  if (sub || (filter && op !== 'remove'))
    throw mutability('a member is added or removed as a whole (RFC 7643 §8.7.1)')
  if (op === 'add') takeIn(change, idsIn(readValue(attribute, value)))
  else if (op === 'replace') stateAll(change, idsIn(readValue(attribute, value)))
  else if (filter) takeOut(change, idsOfFilter(filter))
  else if (value === undefined) stateAll(change, [])
  else takeOut(change, idsIn(readChosen(attribute, value)))
}

/** Users among these ids who are members; all members where no ids are given. */
export const membersAmong = async (
  { db }: Pick<Storage, 'db'>,
  groupId: string,
  ids?: readonly string[],
): Promise<Set<string>> => {
  const query = db.selectFrom('user_groups').select('user_id').where('group_id', '=', groupId)
  const rows = ids
    ? await readInSlices(ids, (part) => query.where('user_id', 'in', part).execute())
    : await query.execute()
  return new Set(rows.map(({ user_id }) => user_id))
}

/** In the order of their ids. */
export const membersOfGroups = (
  { db }: Pick<Storage, 'db'>,
  groupIds: readonly string[],
): Promise<{ group_id: string; user_id: string }[]> =>
  readInSlices(groupIds, (part) =>
    db
      .selectFrom('user_groups')
      .select(['group_id', 'user_id'])
      .where('group_id', 'in', part)
      .orderBy('user_id')
      .execute(),
  )

export const hasMoreMembers = async (
  { db }: Pick<Storage, 'db'>,
  groupId: string,
  most: number,
): Promise<boolean> => {
  const rows = await db
    .selectFrom('user_groups')
    .select('user_id')
    .where('group_id', '=', groupId)
    .limit(most + 1)
    .execute()
  return rows.length > most
}
