/** The attributes that lists of a type can be filtered by and sorted by. */

import {
  type AttributePath,
  type Compare,
  pathText,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import { timeOf } from '#schemas/text/scim-filter-match.ts'
import { invalidFilter, invalidPath, type ScimError } from '../errors.ts'
import {
  type Attribute,
  extensionNamed,
  named,
  ownAttributes,
  type Resource,
  type ResourceType,
} from './attribute.ts'

/** Only the core schema and common attributes may be named without their schema (RFC 7644 §3.10). */
const attributesFor = (
  type: ResourceType,
  { schema }: AttributePath,
): readonly Attribute[] | undefined =>
  schema === undefined || schema.toLowerCase() === type.core.id.toLowerCase()
    ? ownAttributes(type)
    : extensionNamed(type, schema)?.attributes

/** The attribute of a path, and the part that the path names. */
const placeOf = (type: ResourceType, path: AttributePath) => {
  const outer = named(attributesFor(type, path), path.name)
  const inner = path.sub === undefined ? undefined : named(outer?.subAttributes, path.sub)
  return { outer, named: path.sub === undefined ? outer : inner }
}

/** A list stands for its values (RFC 7644 §3.4.2.2). */
const simpleOf = (attribute: Attribute | undefined): Attribute | undefined =>
  attribute?.type === 'complex' ? named(attribute.subAttributes, 'value') : attribute

/** The name of an attribute of the type, without its schema and in lower case; a list stands for its values (RFC 7644 §3.4.2.2). */
export const searchKey = (type: ResourceType, path: AttributePath): string => {
  if (path.schema !== undefined && path.schema.toLowerCase() !== type.core.id.toLowerCase())
    return ''
  const { outer } = placeOf(type, path)
  const isList = outer?.multiValued === true && outer.type === 'complex'
  const part = path.sub ?? (isList ? 'value' : undefined)
  return (part === undefined ? path.name : `${path.name}.${part}`).toLowerCase()
}

/** What responses never have cannot be guessed by filters and by order either. */
export const isFilterable = (type: ResourceType, path: AttributePath): boolean => {
  const { outer, named: found } = placeOf(type, path)
  return found !== undefined && outer?.returned !== 'never'
}

export const isSortable = (type: ResourceType, path: AttributePath): boolean => {
  const { outer, named: found } = placeOf(type, path)
  const isThere = isFilterable(type, path) && simpleOf(found) !== undefined
  return isThere && !type.unsorted.includes(outer?.name ?? '')
}

const plural = ({ name }: ResourceType): string => `${name.toLowerCase()}s`

const notFilterable = (type: ResourceType, path: AttributePath): ScimError =>
  invalidFilter(
    `${plural(type)} cannot be filtered by "${pathText(path)}"; /Schemas lists their attributes`,
  )

export const notSortable = (type: ResourceType, path: AttributePath): ScimError =>
  invalidPath(
    `${plural(type)} cannot be sorted by "${pathText(path)}"; /Schemas lists their attributes`,
  )

const ordered: readonly Compare['op'][] = ['gt', 'ge', 'lt', 'le']
const substrings: readonly Compare['op'][] = ['co', 'sw', 'ew']

/** A comparison that the type of the attribute does not have is refused (RFC 7644 §3.4.2.2), and not answered with nothing. */
const refuseOtherType = ({ path, op, value }: Compare, attribute: Attribute): void => {
  const what = `"${pathText(path)}"`
  const simple = simpleOf(attribute)
  if (!simple) throw invalidFilter(`${what} has parts; compare one of them`)
  const { type } = simple
  const hasNoOrder = type === 'boolean' || type === 'binary'
  if ((hasNoOrder && ordered.includes(op)) || (type === 'boolean' && substrings.includes(op)))
    throw invalidFilter(`${what} cannot be compared by ${op}`)
  if (type === 'dateTime' && substrings.includes(op))
    throw invalidFilter(`${what} cannot be compared by ${op}`)
  if (value === null) return
  if (type === 'boolean') {
    if (typeof value !== 'boolean' && !/^(true|false)$/i.test(String(value)))
      throw invalidFilter(`${what} is true or false`)
    return
  }
  if (typeof value !== 'string') throw invalidFilter(`${what} is compared with a string`)
  if (type === 'dateTime' && timeOf(value) === undefined)
    throw invalidFilter(`${what} is a time such as "2026-01-31T12:00:00Z"`)
}

/** Refuses what a filter cannot mean for any resource of the type, whatever resources there are. */
export const refuseUnsearchable = (type: ResourceType, filter: ScimFilter): void => {
  if ('terms' in filter) {
    for (const term of filter.terms) refuseUnsearchable(type, term)
    return
  }
  if (filter.op === 'not') {
    refuseUnsearchable(type, filter.term)
    return
  }
  const { named: found } = placeOf(type, filter.path)
  if (!found || !isFilterable(type, filter.path)) throw notFilterable(type, filter.path)
  if (filter.op === 'some') refuseInValue(found, filter.filter)
  else if (filter.op !== 'pr') refuseOtherType(filter, found)
}

/** The same for the filter of a value, whose paths are those of its parts. */
const refuseInValue = (list: Attribute, filter: ScimFilter): void => {
  if ('terms' in filter) {
    for (const term of filter.terms) refuseInValue(list, term)
    return
  }
  if (filter.op === 'not') {
    refuseInValue(list, filter.term)
    return
  }
  const { schema, name, sub } = filter.path
  const part = named(list.subAttributes, name)
  if (!part || schema !== undefined || sub !== undefined || filter.op === 'some')
    throw invalidFilter(`${list.name} has no part "${pathText(filter.path)}" to compare`)
  if (filter.op !== 'pr') refuseOtherType(filter, part)
}

/** Attributes of extensions under names that no other attribute has. */
const nameIn = (schema: string, name: string): string => `${schema}:${name}`

/** The attributes that `flatFilter` names. */
export const flatAttributes = (type: ResourceType): readonly Attribute[] => [
  ...ownAttributes(type),
  ...type.extensions.flatMap(({ id, attributes }) =>
    attributes.map((one) => ({ ...one, name: nameIn(id, one.name) })),
  ),
]

export const flatResource = (type: ResourceType, resource: Resource): Resource => ({
  ...resource,
  ...Object.fromEntries(
    type.extensions.flatMap(({ id }) =>
      Object.entries((resource[id] ?? {}) as Resource).map(([name, value]) => [
        nameIn(id, name),
        value,
      ]),
    ),
  ),
})

export const flatPath = (type: ResourceType, path: AttributePath): AttributePath => {
  const extension = path.schema === undefined ? undefined : extensionNamed(type, path.schema)
  const name = extension ? nameIn(extension.id, path.name) : path.name
  return { schema: undefined, name, sub: path.sub }
}

export const flatFilter = (type: ResourceType, filter: ScimFilter): ScimFilter => {
  if ('terms' in filter)
    return { op: filter.op, terms: filter.terms.map((term) => flatFilter(type, term)) }
  if (filter.op === 'not') return { op: 'not', term: flatFilter(type, filter.term) }
  return { ...filter, path: flatPath(type, filter.path) }
}
