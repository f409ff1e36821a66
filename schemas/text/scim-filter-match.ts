/**
 * SCIM filters asked of resources in memory (RFC 7644 §3.4.2.2). How values compare is decided here, for every filter: of a
 * search, of the path of a PATCH and of the scope of a target. Where values are found, and how an attribute is to be compared,
 * is a matter of the caller.
 */

import { foldCase } from './fold-case.ts'
import type { AttributePath, Comparison, Literal, ScimFilter } from './scim-filter.ts'

export interface FoundValues {
  /** Each value of a list is one. */
  readonly values: readonly unknown[]
  /** The parts by which a value is compared; one of them is enough. */
  readonly partsOf: (value: unknown) => readonly unknown[]
  /** Whether the case of texts counts. */
  readonly isCaseExact: boolean
  /** Whether texts that are times compare as times, whatever their zone and precision. */
  readonly isTime: boolean
  /** Looks up the paths of `list[…]` in one value of the list. */
  readonly within: (value: unknown) => Lookup
}

export type Lookup = (path: AttributePath) => FoundValues

const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i

/** Milliseconds of an xsd:dateTime (RFC 7643 §2.3.5), or of a date; UTC where no zone is given. */
export const timeOf = (text: string): number | undefined => {
  const [all, clock, , , zone] = time.exec(text) ?? []
  if (all === undefined) return undefined
  const ms = Date.parse(clock !== undefined && zone === undefined ? `${all}Z` : all)
  return Number.isNaN(ms) ? undefined : ms
}

/** An empty text, list or object is no value (RFC 7644 §3.4.2.2, "pr"; RFC 7643 §2.5). */
const isPresent = (value: unknown): boolean => {
  if (value === undefined || value === null || value === '') return false
  return typeof value !== 'object' || Object.values(value).some(isPresent)
}

type Simple = string | number | boolean

const isSimple = (value: unknown): value is Simple =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Entra ID spells flags as texts. */
const flagOf = (value: Simple): Simple => {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  return word === 'true' || word === 'false' ? word === 'true' : value
}

/** Both values in the form in which they compare. */
const comparable = (
  actual: Simple,
  wanted: Simple,
  { isCaseExact, isTime }: Pick<FoundValues, 'isCaseExact' | 'isTime'>,
): readonly [Simple, Simple] => {
  if (typeof actual === 'boolean' || typeof wanted === 'boolean')
    return [flagOf(actual), flagOf(wanted)]
  if (typeof actual !== 'string' || typeof wanted !== 'string') return [actual, wanted]
  const [a, b] = isTime ? [timeOf(actual), timeOf(wanted)] : []
  if (a !== undefined && b !== undefined) return [a, b]
  return isCaseExact ? [actual, wanted] : [foldCase(actual), foldCase(wanted)]
}

const holds = (op: Exclude<Comparison, 'ne'>, a: Simple, b: Simple): boolean => {
  if (op === 'eq') return a === b
  if (op === 'co' || op === 'sw' || op === 'ew') {
    if (typeof a !== 'string' || typeof b !== 'string') return false
    return op === 'co' ? a.includes(b) : op === 'sw' ? a.startsWith(b) : a.endsWith(b)
  }
  if (typeof a !== typeof b || typeof a === 'boolean') return false
  return op === 'gt' ? a > b : op === 'ge' ? a >= b : op === 'lt' ? a < b : a <= b
}

/**
 * "If the specified attribute in a filter expression is a multi-valued attribute, the filter matches if any of the values of the
 * specified attribute match the specified criterion": so `ne` holds where one value differs, and `not (… eq …)` where all do. An
 * attribute without a value differs from every value, and equals null.
 */
const compares = (op: Comparison, found: FoundValues, wanted: Literal): boolean => {
  const values = found.values.filter(isPresent)
  if (wanted === null) return op === 'eq' ? values.length === 0 : op === 'ne' && values.length > 0
  const isFor = (value: unknown, by: Exclude<Comparison, 'ne'>): boolean =>
    found
      .partsOf(value)
      .filter(isSimple)
      .some((part) => holds(by, ...comparable(part, wanted, found)))
  if (op === 'ne') return values.length === 0 || values.some((value) => !isFor(value, 'eq'))
  return values.some((value) => isFor(value, op))
}

export const matchesScimFilter = (filter: ScimFilter, lookup: Lookup): boolean => {
  switch (filter.op) {
    case 'and':
      return filter.terms.every((one) => matchesScimFilter(one, lookup))
    case 'or':
      return filter.terms.some((one) => matchesScimFilter(one, lookup))
    case 'not':
      return !matchesScimFilter(filter.term, lookup)
    case 'some': {
      const { values, within } = lookup(filter.path)
      return values.some((value) => matchesScimFilter(filter.filter, within(value)))
    }
    case 'pr':
      return lookup(filter.path).values.some(isPresent)
    default:
      return compares(filter.op, lookup(filter.path), filter.value)
  }
}

/** The values of an attribute, or of a part of one: none, one, or those of a list. */
export const valuesOf = (value: unknown): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

const memberOf = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return found?.[1]
}

/** `groups eq "x"` means the value of a group or its name. */
const valueOrDisplay = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null
    ? [memberOf(value, 'value'), memberOf(value, 'display')]
    : [value]

/** Identifiers, whose case counts (RFC 7643 §3.1). */
const caseExact: ReadonlySet<string> = new Set(['id', 'externalid'])

/** Of a resource whose schema is not known: texts are times where both of a comparison are. */
export const lookupIn =
  (resource: unknown): Lookup =>
  ({ schema, name, sub }) => {
    const outer = valuesOf(
      memberOf(schema === undefined ? resource : memberOf(resource, schema), name),
    )
    return {
      values: sub === undefined ? outer : outer.flatMap((value) => valuesOf(memberOf(value, sub))),
      partsOf: valueOrDisplay,
      isCaseExact: sub === undefined && caseExact.has(name.toLowerCase()),
      isTime: true,
      within: lookupIn,
    }
  }

/** The attributes that it asks for, in lower case. */
export const attributesOfScimFilter = (filter: ScimFilter): ReadonlySet<string> => {
  if ('terms' in filter)
    return new Set(filter.terms.flatMap((one) => [...attributesOfScimFilter(one)]))
  return filter.op === 'not'
    ? attributesOfScimFilter(filter.term)
    : new Set([filter.path.name.toLowerCase()])
}
