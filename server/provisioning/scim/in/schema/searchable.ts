/** The attributes that lists of a type can be filtered by and sorted by. */

import { type AttributePath, pathText } from '#schemas/text/scim-filter.ts'
import { invalidFilter, invalidPath, type ScimError } from '../errors.ts'
import { named, ownAttributes, type ResourceType } from './attribute.ts'

type Searched = Pick<ResourceType, 'sortable' | 'filterable'>

/** The name of an attribute of the type, without its schema and in lower case; a list stands for its values (RFC 7644 §3.4.2.2). */
export const searchKey = (type: ResourceType, { schema, name, sub }: AttributePath): string => {
  if (schema !== undefined && schema.toLowerCase() !== type.core.id.toLowerCase()) return ''
  const attribute = named(ownAttributes(type), name)
  const isList = attribute?.multiValued === true && attribute.type === 'complex'
  const part = sub ?? (isList ? 'value' : undefined)
  return (part === undefined ? name : `${name}.${part}`).toLowerCase()
}

const isAmong = (names: readonly string[], type: ResourceType, path: AttributePath): boolean => {
  const key = searchKey(type, path)
  return names.some((name) => name.toLowerCase() === key)
}

export const isSortable = (type: ResourceType, path: AttributePath): boolean =>
  isAmong(type.sortable, type, path)

export const isFilterable = (type: ResourceType, path: AttributePath): boolean =>
  isSortable(type, path) || isAmong(type.filterable, type, path)

export const sortableNames = ({ sortable }: Searched): string => sortable.join(', ')

export const filterableNames = ({ sortable, filterable }: Searched): string =>
  [...sortable, ...filterable].join(', ')

const plural = ({ name }: ResourceType): string => `${name.toLowerCase()}s`

export const notFilterable = (type: ResourceType, path: AttributePath): ScimError =>
  invalidFilter(
    `${plural(type)} cannot be filtered by "${pathText(path)}", but by ${filterableNames(type)}`,
  )

export const notSortable = (type: ResourceType, path: AttributePath): ScimError =>
  invalidPath(
    `${plural(type)} cannot be sorted by "${pathText(path)}", but by ${sortableNames(type)}`,
  )
