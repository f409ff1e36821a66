/** Filters, order and pages of groups, which are documents in memory; members are asked for in the database. */

import { Group } from '#schemas/kinds/users/group.ts'
import type { AttributePath, ScimFilter } from '#schemas/text/scim-filter.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { isStorable } from '#server/storage/documents/reads.ts'
import { groupVersions } from '#server/users/group-versions.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import type { ScimCall } from '../caller.ts'
import { invalidFilter } from '../errors.ts'
import { externalIdsOfGroups } from '../external-ids.ts'
import { matches } from '../match.ts'
import { compareKeys, sortKeyBy } from '../order.ts'
import type { Page } from '../paging.ts'
import { ownAttributes } from '../schema/attribute.ts'
import { groupType } from '../schema/group-schema.ts'
import { isSortable, notSortable, refuseUnsearchable, searchKey } from '../schema/searchable.ts'
import { groupResource } from './resource.ts'

const keyOf = (path: AttributePath): string => searchKey(groupType, path)

const none: ScimFilter = { op: 'pr', path: { schema: undefined, name: 'members', sub: undefined } }

/** The user or group of `members.value eq "…"` in any of its spellings. */
const memberIn = (filter: ScimFilter): string | undefined => {
  if (filter.op === 'some') {
    const isOfMembers = keyOf(filter.path) === 'members.value'
    return isOfMembers ? textIn(filter.filter, 'value') : undefined
  }
  return textIn(filter, 'members.value')
}

const textIn = (filter: ScimFilter, key: string): string | undefined =>
  filter.op === 'eq' && keyOf(filter.path) === key && typeof filter.value === 'string'
    ? filter.value
    : undefined

/** The filter with the ids of groups in the place of members. */
const settled = async (
  storage: Pick<Storage, 'db'>,
  view: ScimCall['view'],
  filter: ScimFilter,
): Promise<ScimFilter> => {
  const member = memberIn(filter)?.toLowerCase()
  if (member !== undefined) {
    const rows = isStorable(member) ? await userGroupsOf(storage, [member]) : []
    const above = isStorable(member) ? (await view.byId(Group.kind, member))?.parentId : null
    const terms = [...rows.map(({ group_id }) => group_id), ...[above ?? []].flat()].map(
      (value): ScimFilter => ({
        op: 'eq',
        path: { schema: undefined, name: 'id', sub: undefined },
        value,
      }),
    )
    return terms.length > 0 ? { op: 'or', terms } : none
  }
  switch (filter.op) {
    case 'and':
    case 'or':
      return {
        op: filter.op,
        terms: await Promise.all(filter.terms.map((term) => settled(storage, view, term))),
      }
    case 'not':
      return { op: 'not', term: await settled(storage, view, filter.term) }
    default:
      if (keyOf(filter.path).startsWith('members'))
        throw invalidFilter('groups are filtered by members with eq alone: members.value eq "…"')
      refuseUnsearchable(groupType, filter)
      return filter
  }
}

/** Groups that fit, in the order of their ids unless another one is asked for. */
export const searchGroups = async (
  storage: Pick<Storage, 'db'>,
  call: ScimCall,
  { filter: asked, sortBy, descending, first, max, after }: Page,
): Promise<{ readonly groups: readonly StoredDocument[]; readonly total: number }> => {
  const filter = asked && (await settled(storage, call.view, asked))
  const documents = await call.view.list(Group.kind)
  const [names, versions] = await Promise.all([
    externalIdsOfGroups(storage, call),
    groupVersions(
      storage,
      documents.map(({ id }) => id),
    ),
  ])
  const attributes = ownAttributes(groupType)
  const all = documents
    .map((group) => {
      const externalId = names.get(group.id)
      const version = versions.get(group.id)
      return { group, shown: groupResource(call, group, { externalId, version, members: [] }) }
    })
    .filter(({ shown }) => !filter || matches(filter, shown, attributes, invalidFilter))
  if (sortBy && !isSortable(groupType, sortBy)) throw notSortable(groupType, sortBy)
  const keyed = sortBy && sortKeyBy(attributes, sortBy)
  const turn = descending && keyed ? -1 : 1
  const sorted = all
    .map((one) => ({ ...one, at: keyed?.(one.shown) }))
    .toSorted((a, b) => compareKeys(a.at, b.at) * turn || (a.group.id < b.group.id ? -1 : 1))
  const rest = after === undefined ? sorted : sorted.filter(({ group }) => group.id > after)
  const page = rest.slice(first, first + max)
  return { groups: page.map(({ group }) => group), total: all.length }
}
