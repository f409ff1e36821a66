/** Whether a resource, or a value of a list, fulfils a filter by its schema: for searches in memory and for the paths of PATCH. */

import { pathText, type ScimFilter } from '#schemas/text/scim-filter.ts'
import { type Lookup, matchesScimFilter, valuesOf } from '#schemas/text/scim-filter-match.ts'
import { type Attribute, isComplex, named, type Value } from './schema/attribute.ts'

export type Refuse = (detail: string) => Error

/** `emails eq "…"` means the values of the list (RFC 7644 §3.4.2.2). */
const simpleOf = (attribute: Attribute): Attribute | undefined =>
  attribute.type === 'complex' ? named(attribute.subAttributes, 'value') : attribute

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

const lookupBy =
  (attributes: readonly Attribute[], refuse: Refuse) =>
  (value: Value): Lookup =>
  (path) => {
    const attribute = named(attributes, path.name)
    const inner = path.sub === undefined ? attribute : named(attribute?.subAttributes, path.sub)
    if (!attribute || !inner) throw refuse(`there is no attribute "${pathText(path)}" to compare`)
    const outer = valuesOf(isComplex(value) ? value[attribute.name] : undefined)
    const simple = simpleOf(inner)
    return {
      values:
        path.sub === undefined
          ? outer
          : outer.flatMap((one) => (isComplex(one) ? valuesOf(one[inner.name]) : [])),
      partsOf: (one) => [isComplex(one) ? one['value'] : one],
      isCaseExact: simple?.caseExact === true,
      isTime: simple?.type === 'dateTime',
      within: lookupBy(inner.subAttributes ?? [], refuse),
    }
  }

/** Looks paths up among the attributes of a complex value, or of a resource. */
export const matches = (
  filter: ScimFilter,
  value: Readonly<Record<string, Value>>,
  attributes: readonly Attribute[],
  refuse: Refuse,
): boolean => matchesScimFilter(filter, lookupBy(attributes, refuse)(value))
