/** The order of resources by an attribute (RFC 7644 §3.4.2.3). */

import { foldCase } from '#schemas/text/fold-case.ts'
import type { AttributePath } from '#schemas/text/scim-filter.ts'
import { type Attribute, isComplex, named, type Resource, type Value } from './schema/attribute.ts'

/** Of a list it is the primary value that counts, else the first one. */
const oneOf = (value: Value): Value =>
  Array.isArray(value)
    ? (value.find((one) => isComplex(one) && one['primary'] === true) ?? value[0])
    : value

/** Texts without case unless it counts, times as texts of ISO 8601. */
export const sortKeyBy = (attributes: readonly Attribute[], { name, sub }: AttributePath) => {
  const outer = named(attributes, name)
  const part = sub ?? (outer?.type === 'complex' ? 'value' : undefined)
  const inner = part === undefined ? undefined : named(outer?.subAttributes, part)
  const isExact = (inner ?? outer)?.caseExact === true
  return (resource: Resource): string | undefined => {
    const found = oneOf(resource[outer?.name ?? ''])
    const value = inner && isComplex(found) ? found[inner.name] : found
    if (value === undefined) return undefined
    return isExact ? String(value) : foldCase(String(value))
  }
}

/** Resources without a value come last in ascending order. */
export const compareKeys = (a: string | undefined, b: string | undefined): number => {
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined || a < b ? -1 : 1
}
