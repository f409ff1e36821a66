/** Whether a value fulfils a filter: for paths of PATCH, and for groups, which are in memory. */

import {
  type AttributePath,
  type Compare,
  type Literal,
  pathText,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import { type Attribute, isComplex, named, type Value } from './schema/attribute.ts'

export type Refuse = (detail: string) => Error

const values = (value: Value): readonly Value[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

/** Times are compared as times, flags also where they are spelt as texts, texts without case unless it counts. */
const comparable = (attribute: Attribute, value: Value): string | number | boolean | undefined => {
  if (attribute.type === 'boolean')
    return typeof value === 'string' ? value.toLowerCase() === 'true' : value === true
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined
  if (attribute.type === 'dateTime') return Date.parse(value)
  return attribute.caseExact ? value : value.toLowerCase()
}

const fulfils = (
  op: Compare['op'],
  given: string | number | boolean | undefined,
  wanted: string | number | boolean | undefined,
): boolean => {
  if (given === undefined || wanted === undefined) return false
  const texts = typeof given === 'string' && typeof wanted === 'string'
  const ordered = typeof given === typeof wanted && typeof given !== 'boolean'
  switch (op) {
    case 'eq':
      return given === wanted
    case 'ne':
      return given !== wanted
    case 'co':
      return texts && given.includes(wanted)
    case 'sw':
      return texts && given.startsWith(wanted)
    case 'ew':
      return texts && given.endsWith(wanted)
    case 'gt':
      return ordered && given > wanted
    case 'ge':
      return ordered && given >= wanted
    case 'lt':
      return ordered && given < wanted
    default:
      return ordered && given <= wanted
  }
}

/** `emails eq "…"` means the values of the list (RFC 7644 §3.4.2.2). */
const simpleOf = (attribute: Attribute): Attribute | undefined =>
  attribute.type === 'complex' ? named(attribute.subAttributes, 'value') : attribute

const compare = (
  attribute: Attribute,
  present: readonly Value[],
  { op, value: wanted }: { readonly op: Compare['op']; readonly value: Literal },
): boolean => {
  if (wanted === null) return op === 'eq' ? present.length === 0 : op === 'ne' && present.length > 0
  if (op === 'ne' && present.length === 0) return true
  const simple = simpleOf(attribute)
  if (!simple) return false
  return present.some((one) => {
    const inner = attribute.type === 'complex' && isComplex(one) ? one['value'] : one
    return fulfils(op, comparable(simple, inner), comparable(simple, wanted))
  })
}

/** Refuses a filter that names an attribute which is not among these. */
export const refuseUnknownPaths = (
  filter: ScimFilter,
  attributes: readonly Attribute[],
  refuse: Refuse,
): void => {
  if ('terms' in filter)
    for (const term of filter.terms) refuseUnknownPaths(term, attributes, refuse)
  else if (filter.op === 'not') refuseUnknownPaths(filter.term, attributes, refuse)
  else if (!named(attributes, filter.path.name))
    throw refuse(`there is no attribute "${pathText(filter.path)}" to compare`)
}

/** Looks paths up among the attributes of a complex value, or of a resource. */
export const matches = (
  filter: ScimFilter,
  value: Readonly<Record<string, Value>>,
  attributes: readonly Attribute[],
  refuse: Refuse,
): boolean => {
  const find = ({ name, sub, ...rest }: AttributePath) => {
    const attribute = named(attributes, name)
    const inner = sub === undefined ? attribute : named(attribute?.subAttributes, sub)
    if (!attribute || !inner)
      throw refuse(`there is no attribute "${pathText({ name, sub, ...rest })}" to compare`)
    const outer = values(value[attribute.name])
    const present =
      sub === undefined
        ? outer
        : outer.flatMap((one) => (isComplex(one) ? values(one[inner.name]) : []))
    return { attribute: inner, present }
  }
  switch (filter.op) {
    case 'and':
      return filter.terms.every((term) => matches(term, value, attributes, refuse))
    case 'or':
      return filter.terms.some((term) => matches(term, value, attributes, refuse))
    case 'not':
      return !matches(filter.term, value, attributes, refuse)
    case 'pr':
      return find(filter.path).present.length > 0
    case 'some': {
      const { attribute, present } = find(filter.path)
      return present.some(
        (one) =>
          isComplex(one) && matches(filter.filter, one, attribute.subAttributes ?? [], refuse),
      )
    }
    default: {
      const { attribute, present } = find(filter.path)
      return compare(attribute, present, filter)
    }
  }
}
