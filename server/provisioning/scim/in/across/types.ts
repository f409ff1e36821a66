/** Filters and order of users and groups together (RFC 7644 §3.4.2.1, §3.4.2.3). */

import { type AttributePath, pathText, type ScimFilter } from '#schemas/text/scim-filter.ts'
import { invalidPath } from '../errors.ts'
import type { Page } from '../paging.ts'
import type { Resources } from '../resource-routes.ts'
import { commonAttributes, named } from '../schema/attribute.ts'
import { isFilterable, isSortable } from '../schema/searchable.ts'

export type Searched = Pick<Resources, 'type' | 'find'>

const never: ScimFilter = { op: 'or', terms: [] }
const always: ScimFilter = { op: 'and', terms: [] }

/** What the comparison says of a resource without a value. */
const withoutValue = (filter: ScimFilter): ScimFilter => {
  const isNull = 'value' in filter && filter.value === null
  return filter.op === (isNull ? 'eq' : 'ne') ? always : never
}

const isCommon = ({ schema, name }: AttributePath): boolean =>
  schema === undefined && named(commonAttributes, name) !== undefined

/**
 * The filter as it is for one type: an attribute that only other types have is one without a value. What resources of all types
 * have, and what no type can be filtered by, stays in the filter for the type to refuse.
 */
export const filterFor = (
  { type }: Pick<Searched, 'type'>,
  all: readonly Searched[],
  filter: ScimFilter,
): ScimFilter => {
  if ('terms' in filter)
    return { op: filter.op, terms: filter.terms.map((term) => filterFor({ type }, all, term)) }
  if (filter.op === 'not') return { op: 'not', term: filterFor({ type }, all, filter.term) }
  const { path } = filter
  const isElsewhere = !isCommon(path) && all.some((other) => isFilterable(other.type, path))
  return isElsewhere && !isFilterable(type, path) ? withoutValue(filter) : filter
}

/** Resources without a value come last in ascending order, and first in descending order (RFC 7644 §3.4.2.3). */
export const inOrder = (
  all: readonly Searched[],
  { sortBy, descending }: Pick<Page, 'sortBy' | 'descending'>,
): readonly Searched[] => {
  if (!sortBy) return all
  const sorted = all.filter(({ type }) => isSortable(type, sortBy))
  if (isCommon(sortBy) || sorted.length !== 1)
    throw invalidPath(
      `users and groups together cannot be sorted by "${pathText(sortBy)}"; sort them at /Users and at /Groups`,
    )
  const others = all.filter((one) => !sorted.includes(one))
  return descending ? [...others, ...sorted] : [...sorted, ...others]
}
