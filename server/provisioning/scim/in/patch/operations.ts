/**
 * The operations of a PATCH as senders spell them, brought into one form: an action at a place. Entra ID writes "Replace" and
 * "Add", wraps the value at a path, and puts paths into the keys of an object without a path; Okta repeats the id in such an object.
 */

import { invalidSyntax, invalidValue, mutability, noTarget, tooMany } from '../errors.ts'
import { isComplex, type ResourceType, type Value } from '../schema/attribute.ts'
import { refuseUnlessObject, refuseWithoutSchema } from '../values.ts'
import { findPlace, type Place, placeNamed, type Target } from './target.ts'

export const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const mostOperations = 1000

export interface Change {
  readonly op: 'add' | 'replace' | 'remove'
  readonly place: Place
  readonly value: Value
}

const operationNames: ReadonlySet<string> = new Set(['add', 'replace', 'remove'])

const memberOf = (object: Readonly<Record<string, Value>>, name: string): Value =>
  Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1]

const isReadOnly = (place: Place): boolean =>
  !('whole' in place) &&
  (place.attribute.mutability === 'readOnly' || place.sub?.mutability === 'readOnly')

const isWriteOnly = (place: Place): boolean =>
  !('whole' in place) && place.attribute.mutability === 'writeOnly'

/** Entra ID sends the value at a path as a list of one, and a simple value as `[{"value": …}]`. */
const unwrapped = ({ attribute, sub }: Target, value: Value): Value => {
  const only = Array.isArray(value) && value.length <= 1 ? (value[0] ?? null) : value
  const isSimple = (sub ?? attribute).type !== 'complex'
  return isSimple && isComplex(only) && 'value' in only ? only['value'] : only
}

/**
 * The value at a path. To a list one value may be added by itself, as RFC 7644 §3.5.2.1 has it ("a new value is added"), and so
 * it may be removed; what replaces a list is a list. An empty list chooses nothing to be removed: all values are.
 */
const valueAt = (place: Place, op: Change['op'], value: Value): Value => {
  if ('whole' in place) return value
  const { attribute, filter, sub } = place
  if (!attribute.multiValued || filter || sub) return unwrapped(place, value)
  if (op === 'replace') return value
  if (op === 'remove' && (value === null || (Array.isArray(value) && value.length === 0)))
    return undefined
  return isComplex(value) ? [value] : value
}

const entriesOf = (value: Value): readonly (readonly [string, Value])[] => {
  if (!isComplex(value)) throw invalidValue('an operation without a path needs an object as value')
  return Object.entries(value)
}

/** An object without a path names its places by its keys. What the server sets itself, and what no schema knows, is ignored. */
const withoutPath = (
  type: ResourceType,
  op: 'add' | 'replace',
  value: Value,
): readonly Change[] => {
  const isCore = (key: string): boolean => key.toLowerCase() === type.core.id.toLowerCase()
  // The core schema may be named as an extension must be (RFC 7644 §3.10).
  const named = entriesOf(value).flatMap(([key, inner]) =>
    isCore(key) ? entriesOf(inner) : [[key, inner] as const],
  )
  return named.flatMap(([key, inner]) => {
    const place = findPlace(type, key)
    return place && !isReadOnly(place) ? [{ op, place, value: inner }] : []
  })
}

const changesOf = (type: ResourceType, given: unknown): readonly Change[] => {
  if (!isComplex(given)) throw invalidSyntax('an operation must be an object')
  const name = memberOf(given, 'op')
  const op = typeof name === 'string' ? name.toLowerCase() : ''
  if (!operationNames.has(op)) throw invalidSyntax('"op" must be add, replace or remove')
  const path = memberOf(given, 'path')
  const value = memberOf(given, 'value')
  if (path !== undefined && path !== null && typeof path !== 'string')
    throw invalidSyntax('"path" must be a text')
  if (op === 'remove') {
    if (!path) throw noTarget('remove needs a path (RFC 7644 §3.5.2.2)')
  } else if (value === undefined) throw invalidValue(`${op} needs a value`)
  if (!path) return withoutPath(type, op === 'add' ? 'add' : 'replace', value)
  const place = placeNamed(type, path)
  if (isReadOnly(place)) throw mutability(`"${path.slice(0, 200)}" is set by the server`)
  if (op === 'remove' && isWriteOnly(place))
    throw mutability(`"${path.slice(0, 200)}" is replaced, and not removed`)
  const action = op as Change['op']
  return [{ op: action, place, value: valueAt(place, action, value) }]
}

/** The changes of the body of a PATCH, in their order. */
export const readPatch = (type: ResourceType, given: unknown): readonly Change[] => {
  const body = refuseUnlessObject(given)
  refuseWithoutSchema(body, patchSchema)
  const operations = memberOf(body, 'operations')
  if (!Array.isArray(operations) || operations.length === 0)
    throw invalidSyntax('"Operations" must be a list of at least one operation')
  if (operations.length > mostOperations)
    throw tooMany(`a request has at most ${mostOperations} operations`)
  return operations.flatMap((operation) => changesOf(type, operation))
}
