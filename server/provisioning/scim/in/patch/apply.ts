/**
 * Applies the changes of a PATCH to a resource, all or none (RFC 7644 §3.5.2). The resource that is given stays as it is. Each
 * change may look at all values of a list: a thousand of them take seconds, and give way in between (CWE-407).
 */

import type { ScimFilter } from '#schemas/text/scim-filter.ts'
import { createPace } from '#server/platform/pace.ts'
import { invalidPath, invalidValue, mutability, noTarget } from '../errors.ts'
import { matches } from '../match.ts'
import {
  type Attribute,
  type Complex,
  isComplex,
  named,
  type Resource,
  type ResourceType,
  type Value,
} from '../schema/attribute.ts'
import {
  distinct,
  keyOf,
  readChosen,
  readParts,
  readValue,
  refuseTooMany,
  refuseWithoutRequired,
} from '../values.ts'
import type { Change } from './operations.ts'
import type { Target } from './target.ts'

type Draft = Record<string, Value>

const set = (draft: Draft, name: string, value: Value): void => {
  const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
  if (isEmpty || (isComplex(value) && Object.keys(value).length === 0)) delete draft[name]
  else draft[name] = value
}

const listIn = (draft: Draft, { name }: Attribute): readonly Value[] =>
  (draft[name] as readonly Value[] | undefined) ?? []

const matchesFilter = (filter: ScimFilter, attribute: Attribute, one: Value): boolean =>
  isComplex(one) && matches(filter, one, attribute.subAttributes ?? [], invalidPath)

/** What `type eq "work"` says of a value that is to be made; undefined where the filter says anything else. */
const madeBy = (filter: ScimFilter, attribute: Attribute): Complex | undefined => {
  if (filter.op === 'and') {
    const parts = filter.terms.map((term) => madeBy(term, attribute))
    if (parts.some((part) => part === undefined)) return undefined
    return Object.fromEntries(parts.flatMap((part) => Object.entries(part ?? {})))
  }
  if (filter.op !== 'eq' || filter.path.sub !== undefined) return undefined
  const sub = named(attribute.subAttributes, filter.path.name)
  return sub && { [sub.name]: readValue(sub, filter.value) }
}

const isPrimary = (one: Value): boolean => isComplex(one) && one['primary'] === true

/** One value at most is the primary one: a new one takes the place of the old one. */
const onePrimary = (list: readonly Value[], newest: readonly Value[]): Value[] => {
  const chosen = newest.find(isPrimary)
  if (chosen === undefined) return [...list]
  return list.map((one) =>
    one !== chosen && isComplex(one) && isPrimary(one) ? { ...one, primary: false } : one,
  )
}

/** A sub-attribute without a value is removed. */
const presentIn = (one: Complex): Complex =>
  Object.fromEntries(Object.entries(one).filter(([, part]) => part !== undefined))

const withoutNothing = (one: Value): Value => (isComplex(one) ? presentIn(one) : one)

const merged = (one: Value, given: Value): Value =>
  isComplex(one) && isComplex(given) ? { ...one, ...given } : given

/** An address or a number without its `value` is none: the whole value goes with it. */
const isValueOf = ({ name }: Attribute): boolean => name === 'value'

/** Parts that say something of a value, and are none by themselves (RFC 7643 §2.4). */
const describing: ReadonlySet<string> = new Set(['type', 'primary'])

const hasContent = ({ subAttributes }: Attribute, one: Complex): boolean =>
  named(subAttributes, 'value')
    ? one['value'] !== undefined
    : Object.keys(one).some((part) => !describing.has(part))

const contentOf = ({ subAttributes }: Attribute): string =>
  named(subAttributes, 'value') ? 'a "value"' : 'more than type or primary'

const withoutContent = ({ op, target: { attribute } }: Omit<Made, 'filter'>): Error => {
  const refuse = op === 'replace' ? noTarget : invalidValue
  return refuse(
    `no value of ${attribute.name} fits the path, and a new one needs ${contentOf(attribute)}`,
  )
}

/** A value that a path made, because no other fitted. */
interface Made {
  readonly op: Change['op']
  readonly target: Target
  readonly filter: ScimFilter
}

/**
 * Entra ID makes a value part by part, in any order: whether it is one shows after the last operation. Else nothing was there to be
 * replaced (RFC 7644 §3.5.2.3).
 */
const refuseWithoutContent = (draft: Draft, made: Made): void => {
  const { extension, attribute } = made.target
  const holder = extension ? ((draft[extension.id] ?? {}) as Draft) : draft
  for (const one of listIn(holder, attribute))
    if (isComplex(one) && matchesFilter(made.filter, attribute, one) && !hasContent(attribute, one))
      throw withoutContent(made)
}

/** The value is replaced (RFC 7644 §3.5.2.3) and stays one that the path chooses: the same request can be sent again. */
const replacementBy = (filter: ScimFilter, attribute: Attribute, parts: Value): Complex => {
  const whole = presentIn({ ...madeBy(filter, attribute), ...(isComplex(parts) ? parts : {}) })
  if (!hasContent(attribute, whole))
    throw invalidValue(`what replaces a value of ${attribute.name} needs ${contentOf(attribute)}`)
  return whole
}

const changeList = (draft: Draft, { op, value }: Change, target: Target): Made | undefined => {
  const { attribute, filter, sub } = target
  const before = listIn(draft, attribute)
  if (filter === undefined && sub === undefined) {
    const given = (readValue(attribute, value) ?? []) as readonly Value[]
    if (op === 'replace') {
      set(draft, attribute.name, given)
      return undefined
    }
    const after = distinct([...before, ...given])
    refuseTooMany(attribute, after)
    // One that was there may be repeated: the primary one is the one that is given as such (RFC 7644 §3.5.2).
    const primary = given.filter(isPrimary).map(keyOf)
    const newest = after.filter((one) => primary.includes(keyOf(one)))
    set(draft, attribute.name, onePrimary(after, newest))
    return undefined
  }
  if (sub && isValueOf(sub) && readValue(sub, value) === undefined) {
    removeFromList(draft, { value: undefined }, target)
    return undefined
  }
  const parts = sub ? { [sub.name]: readValue(sub, value) } : readParts(attribute, value)
  if (parts === undefined) {
    if (op === 'replace') removeFromList(draft, { value: undefined }, target)
    return undefined
  }
  const clearsParts = isComplex(parts) && Object.keys(presentIn(parts)).length === 0
  const chosen = before.map((one) => filter === undefined || matchesFilter(filter, attribute, one))
  if (!chosen.includes(true)) {
    // Entra ID clears every part that it maps, also those of a value that is not there.
    if (clearsParts) return undefined
    // Entra ID replaces parts of values that are not there yet.
    const made = filter && (sub || op === 'add') ? madeBy(filter, attribute) : undefined
    if (!filter || !made) throw noTarget(`no value of ${attribute.name} fits the path`)
    const fresh = presentIn({ ...made, ...(isComplex(parts) ? parts : {}) })
    if (sub ? !matchesFilter(filter, attribute, fresh) : !hasContent(attribute, fresh))
      throw withoutContent({ op, target })
    const after = [...before, fresh]
    refuseTooMany(attribute, after)
    set(draft, attribute.name, onePrimary(after, [fresh]))
    return { op, target, filter }
  }
  const isReplaced = op === 'replace' && filter && !sub && !clearsParts
  const changed = isReplaced
    ? () => replacementBy(filter, attribute, parts)
    : (one: Value) => merged(one, parts)
  const after = before.map((one, index) => (chosen[index] ? changed(one) : one))
  const newest = after.filter((_, index) => chosen[index])
  set(draft, attribute.name, distinct(onePrimary(after, newest).map(withoutNothing)))
  return undefined
}

/** Entra ID removes by the path of a list and a list of values: by their `value`, else by all parts that are given. */
const isNamedIn = (values: readonly Complex[], one: Value): boolean =>
  isComplex(one) &&
  values.some((given) =>
    'value' in given
      ? given['value'] === one['value']
      : Object.entries(given).every(([part, value]) => value === one[part]),
  )

const removeFromList = (draft: Draft, { value }: Pick<Change, 'value'>, target: Target): void => {
  const { attribute, filter, sub } = target
  const before = listIn(draft, attribute)
  const isChosen = value !== undefined && filter === undefined && sub === undefined
  const given = isChosen ? readChosen(attribute, value) : undefined
  const goes = (one: Value): boolean =>
    (filter === undefined || matchesFilter(filter, attribute, one)) &&
    (given === undefined || isNamedIn(given, one))
  const after =
    sub && !isValueOf(sub)
      ? before.map((one) =>
          goes(one) && isComplex(one) ? withoutNothing({ ...one, [sub.name]: undefined }) : one,
        )
      : before.filter((one) => !goes(one))
  set(
    draft,
    attribute.name,
    after.filter((one) => !isComplex(one) || Object.keys(one).length > 0),
  )
}

const changeSingle = (draft: Draft, { op, value }: Change, { attribute, sub }: Target): void => {
  const before = draft[attribute.name]
  if (sub) {
    const part = op === 'remove' ? undefined : readValue(sub, value)
    set(draft, attribute.name, withoutNothing(merged(before ?? {}, { [sub.name]: part })))
    return
  }
  const after = op === 'remove' ? undefined : readParts(attribute, value)
  if (attribute.required && after === undefined) throw invalidValue(`${attribute.name} is required`)
  // Parts of a complex value that are not given stay (RFC 7644 §3.5.2.3).
  set(draft, attribute.name, isComplex(after) ? withoutNothing(merged(before ?? {}, after)) : after)
}

const changeAt = (draft: Draft, change: Change, target: Target): Made | undefined => {
  const { attribute } = target
  if (change.op === 'remove' && attribute.required && !target.filter && !target.sub)
    throw mutability(`${attribute.name} is required and stays (RFC 7644 §3.5.2.2)`)
  if (attribute.multiValued && change.op !== 'remove') return changeList(draft, change, target)
  if (attribute.multiValued) removeFromList(draft, change, target)
  else changeSingle(draft, change, target)
  return undefined
}

const changeExtension = (draft: Draft, change: Change, target: Target): Made | undefined => {
  const { extension } = target
  if (!extension) return changeAt(draft, change, target)
  const inner = { ...(draft[extension.id] as Draft | undefined) }
  const made = changeAt(inner, change, target)
  set(draft, extension.id, inner)
  return made
}

export const applyChanges = async (
  type: ResourceType,
  resource: Resource,
  changes: readonly Change[],
): Promise<Resource> => {
  const draft: Draft = { ...resource }
  const pace = createPace()
  const made: Made[] = []
  for (const change of changes) {
    if (pace.over()) await pace.rest()
    const { place, op, value } = change
    if (!('whole' in place)) {
      const fresh = changeExtension(draft, change, place)
      if (fresh) made.push(fresh)
    } else if (op === 'remove' || value === null) delete draft[place.whole.id]
    else {
      if (!isComplex(value)) throw invalidValue(`${place.whole.id} must be an object`)
      for (const [name, inner] of Object.entries(value)) {
        const attribute = named(place.whole.attributes, name)
        const target = attribute && {
          extension: place.whole,
          attribute,
          filter: undefined,
          sub: undefined,
        }
        if (target) changeExtension(draft, { op, place: target, value: inner }, target)
      }
    }
  }
  for (const one of made) refuseWithoutContent(draft, one)
  refuseWithoutRequired(type, draft)
  return draft
}
