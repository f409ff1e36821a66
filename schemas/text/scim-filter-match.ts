/**
 * SCIM filters asked of a resource in memory whose schema is not known: attribute names and strings compare without case
 * (RFC 7643 §2.1, §2.2).
 */

import type { AttributePath, Comparison, Literal, ScimFilter } from './scim-filter.ts'

type Values = readonly unknown[]

const memberOf = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return found?.[1]
}

const flat = (value: unknown): Values =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

/** The values of an attribute, of every element of lists on the way. */
const valuesAt = (resource: unknown, { schema, name, sub }: AttributePath): Values => {
  const start = schema === undefined ? resource : memberOf(resource, schema)
  const values = flat(memberOf(start, name))
  return sub === undefined ? values : values.flatMap((value) => flat(memberOf(value, sub)))
}

/** What a list of complex values is compared by: `groups eq "x"` means its value or what it is shown as. */
const comparable = (value: unknown): Values =>
  typeof value === 'object' && value !== null
    ? [memberOf(value, 'value'), memberOf(value, 'display')].filter((one) => one !== undefined)
    : [value]

const ordered = (op: Comparison, a: string | number, b: string | number): boolean =>
  op === 'gt' ? a > b : op === 'ge' ? a >= b : op === 'lt' ? a < b : op === 'le' && a <= b

const holds = (op: Comparison, actual: unknown, wanted: Literal): boolean => {
  if (typeof actual === 'string' && typeof wanted === 'string') {
    const [a, b] = [actual.toLowerCase(), wanted.toLowerCase()]
    if (op === 'eq') return a === b
    if (op === 'co') return a.includes(b)
    if (op === 'sw') return a.startsWith(b)
    if (op === 'ew') return a.endsWith(b)
    return ordered(op, a, b)
  }
  if (op === 'eq') return actual === wanted
  return typeof actual === 'number' && typeof wanted === 'number' && ordered(op, actual, wanted)
}

export const matchesScimFilter = (filter: ScimFilter, resource: unknown): boolean => {
  switch (filter.op) {
    case 'and':
      return filter.terms.every((one) => matchesScimFilter(one, resource))
    case 'or':
      return filter.terms.some((one) => matchesScimFilter(one, resource))
    case 'not':
      return !matchesScimFilter(filter.term, resource)
    case 'some':
      return valuesAt(resource, filter.path).some((value) =>
        matchesScimFilter(filter.filter, value),
      )
  }
  const all = valuesAt(resource, filter.path).flatMap(comparable)
  if (filter.op === 'pr') return all.some((value) => value !== '')
  const { op, value: wanted } = filter
  if (wanted === null) return op === 'eq' ? all.length === 0 : op === 'ne' && all.length > 0
  if (op === 'ne') return !all.some((value) => holds('eq', value, wanted))
  return all.some((value) => holds(op, value, wanted))
}

/** The attributes that it asks for, in lower case. */
export const attributesOfScimFilter = (filter: ScimFilter): ReadonlySet<string> => {
  if ('terms' in filter)
    return new Set(filter.terms.flatMap((one) => [...attributesOfScimFilter(one)]))
  return filter.op === 'not'
    ? attributesOfScimFilter(filter.term)
    : new Set([filter.path.name.toLowerCase()])
}
