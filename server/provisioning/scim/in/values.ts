/**
 * Reads values against the schemas (RFC 7643 §2): names in any case, types as senders spell them. What a schema does not know is
 * ignored and never stored; what is read-only is ignored too (RFC 7644 §3.3, §3.5.1).
 */

import { refusal } from '#server/storage/values.ts'
import { invalidSyntax, invalidValue } from './errors.ts'
import {
  type Attribute,
  type Complex,
  extensionNamed,
  isComplex,
  named,
  ownAttributes,
  type Resource,
  type ResourceType,
  type Value,
} from './schema/attribute.ts'

/** Texts are kept as attributes of users, which are no longer. */
export const longestText = 4000
const mostMembers = 20_000
/** Bounds the work of a PATCH: every operation of a PATCH may look at every value that is there. */
const mostValues = 200

/** Entra ID sends flags as "True" and "False" unless it is told otherwise. */
const flagOf = (attribute: Attribute, value: Value): boolean => {
  const word = typeof value === 'string' ? value.toLowerCase() : value
  if (word === true || word === 'true') return true
  if (word === false || word === 'false') return false
  throw invalidValue(`${attribute.name} must be true or false`)
}

const textOf = (attribute: Attribute, value: Value): string => {
  if (typeof value !== 'string') throw invalidValue(`${attribute.name} must be a text`)
  const reason = refusal(value)
  if (reason !== undefined) throw invalidValue(`${attribute.name} is ${reason}`)
  if (value.length > longestText)
    throw invalidValue(`${attribute.name} has more than ${longestText} characters`)
  return value
}

/** Entra ID names a manager by a text; the values of lists are objects (RFC 7643 §2.3.8, §2.4). */
const complexOf = (attribute: Attribute, value: Value): Complex | undefined => {
  const isText = typeof value === 'string' && !attribute.multiValued
  const given = isText && named(attribute.subAttributes, 'value') ? { value } : value
  if (!isComplex(given))
    throw invalidValue(
      `${attribute.multiValued ? `a value of ${attribute.name}` : attribute.name} must be an object`,
    )
  const read: Record<string, Value> = {}
  for (const [name, inner] of Object.entries(given)) {
    const found = named(attribute.subAttributes, name)
    if (!found || found.mutability === 'readOnly') continue
    const one = readValue(found, inner)
    if (one !== undefined) read[found.name] = one
  }
  return Object.keys(read).length > 0 ? read : undefined
}

const onlyOnePrimary = (attribute: Attribute, list: readonly Value[]): void => {
  const primary = list.filter((one) => isComplex(one) && one['primary'] === true)
  if (primary.length > 1)
    throw invalidValue(`${attribute.name} has more than one primary value (RFC 7643 §2.4)`)
}

/** Equal for the same `value` of the same type; of a value without a `value` all parts count but `primary`, whatever their order. */
export const keyOf = (value: Value): string => {
  if (!isComplex(value)) return JSON.stringify(value)
  return JSON.stringify(
    value['value'] === undefined
      ? Object.entries({ ...value, primary: undefined }).sort()
      : [value['value'], value['type']],
  )
}

const joined = (first: Value, second: Value): Value => {
  if (!isComplex(first) || !isComplex(second)) return first
  const isPrimary = first['primary'] === true || second['primary'] === true
  return { ...first, ...second, ...(isPrimary ? { primary: true } : {}) }
}

/** The same value of the same type twice is one (RFC 7643 §2.4): at the place of the first, with the parts of both. */
export const distinct = (list: readonly Value[]): Value[] => {
  const found = new Map<string, Value>()
  for (const one of list) {
    const key = keyOf(one)
    const first = found.get(key)
    found.set(key, first === undefined ? one : joined(first, one))
  }
  return [...found.values()]
}

export const refuseTooMany = ({ name }: Attribute, list: readonly Value[]): void => {
  const most = name === 'members' ? mostMembers : mostValues
  if (list.length > most) throw invalidValue(`${name} has more than ${most} values`)
}

const listOf = (attribute: Attribute, value: Value): readonly Value[] | undefined => {
  if (!Array.isArray(value)) throw invalidValue(`${attribute.name} must be a list (RFC 7643 §2.4)`)
  refuseTooMany(attribute, value)
  const read = value.flatMap((one) => readOne(attribute, one) ?? [])
  onlyOnePrimary(attribute, read)
  const list = distinct(read)
  return list.length > 0 ? list : undefined
}

/** One value of the attribute, also where it is a list. */
const readOne = (attribute: Attribute, value: Value): Value => {
  if (value === undefined || value === null) return undefined
  if (attribute.type === 'complex') return complexOf(attribute, value)
  if (attribute.type === 'boolean') return flagOf(attribute, value)
  const text = textOf(attribute, value)
  return text === '' ? undefined : text
}

/** Nothing where the value is none: null, an empty text or list (RFC 7643 §2.5). */
export const readValue = (attribute: Attribute, value: Value): Value => {
  if (value === undefined || value === null) return undefined
  return attribute.multiValued ? listOf(attribute, value) : readOne(attribute, value)
}

/**
 * The parts of a value that an operation gives, those too that it gives as none (RFC 7643 §2.5). Nothing where the whole value
 * is none: an address, a number or a manager without its `value`.
 */
export const readParts = (attribute: Attribute, value: Value): Value => {
  const parts = readOne(attribute, value)
  if (attribute.type !== 'complex' || !isComplex(value)) return parts
  const none = Object.entries(value).flatMap(([name, inner]) => {
    const part = named(attribute.subAttributes, name)
    const isSettable = part !== undefined && part.mutability !== 'readOnly'
    return isSettable && readValue(part, inner) === undefined ? [[part.name, undefined]] : []
  })
  const given = { ...Object.fromEntries(none), ...(isComplex(parts) ? parts : {}) }
  const isNone = Object.keys(value).length === 0 || ('value' in given && !given['value'])
  return isNone ? undefined : given
}

/** The values that an operation chooses by a list. A list that names none would otherwise mean all of them. */
export const readChosen = (attribute: Attribute, value: Value): readonly Complex[] => {
  const chosen = readValue(attribute, value)
  if (chosen === undefined) throw invalidValue(`no value of ${attribute.name} is named`)
  return chosen as readonly Complex[]
}

const readInto = (
  read: Record<string, Value>,
  attributes: readonly Attribute[],
  body: Complex,
): void => {
  for (const [name, value] of Object.entries(body)) {
    const attribute = named(attributes, name)
    if (!attribute || attribute.mutability === 'readOnly') continue
    if (Object.hasOwn(read, attribute.name))
      throw invalidSyntax(`the resource has "${attribute.name}" twice, in different spellings`)
    const one = readValue(attribute, value)
    if (one !== undefined) read[attribute.name] = one
  }
}

export const refuseWithoutSchema = (body: Complex, urn: string): void => {
  const [, given] = Object.entries(body).find(([name]) => name.toLowerCase() === 'schemas') ?? []
  const list = Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []
  if (!list.some((one) => one.toLowerCase() === urn.toLowerCase()))
    throw invalidSyntax(`"schemas" must name ${urn}`)
}

export const refuseUnlessObject = (body: unknown): Complex => {
  if (!isComplex(body)) throw invalidSyntax('the body must be a JSON object')
  return body
}

/** The resource of a POST or PUT. */
export const readResource = (type: ResourceType, given: unknown): Resource => {
  const body = refuseUnlessObject(given)
  refuseWithoutSchema(body, type.core.id)
  const read: Record<string, Value> = {}
  readInto(read, ownAttributes(type), body)
  for (const [name, value] of Object.entries(body)) {
    // Some senders name the core schema as an extension must be named.
    if (name.toLowerCase() === type.core.id.toLowerCase() && isComplex(value))
      readInto(read, ownAttributes(type), value)
    const extension = extensionNamed(type, name)
    if (!extension || value === null) continue
    if (!isComplex(value)) throw invalidValue(`${extension.id} must be an object`)
    const inner: Record<string, Value> = {}
    readInto(inner, extension.attributes, value)
    if (Object.keys(inner).length > 0) read[extension.id] = inner
  }
  refuseWithoutRequired(type, read)
  return read
}

/** What a resource must have (RFC 7643 §2.2). A flag that is not given has the value that it has, or the usual one. */
export const refuseWithoutRequired = (type: ResourceType, resource: Resource): void => {
  for (const { name, required, type: kind } of type.core.attributes)
    if (required && kind !== 'boolean' && resource[name] === undefined)
      throw invalidValue(`${name} is required`)
}
