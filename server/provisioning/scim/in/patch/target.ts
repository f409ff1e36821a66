/** Paths of PATCH (RFC 7644 §3.5.2): `attribute`, `attribute.sub`, `list[filter]`, `list[filter].sub`, each with a schema or without. */

import {
  type AttributePath,
  attributePath,
  mostCharacters,
  parseScimFilter,
  type ScimFilter,
} from '#schemas/text/scim-filter.ts'
import { invalidPath } from '../errors.ts'
import { refuseUnknownPaths } from '../match.ts'
import {
  type Attribute,
  extensionNamed,
  named,
  ownAttributes,
  type ResourceType,
  type Schema,
} from '../schema/attribute.ts'

/** Where an operation acts. */
export interface Target {
  /** The extension that the attribute is of. */
  readonly extension: Schema | undefined
  readonly attribute: Attribute
  readonly filter: ScimFilter | undefined
  readonly sub: Attribute | undefined
}

/** A whole extension, or a place in the resource. */
export type Place = { readonly whole: Schema } | Target

const placeOf = (type: ResourceType, path: AttributePath) => {
  const { schema } = path
  if (schema === undefined || schema.toLowerCase() === type.core.id.toLowerCase())
    return { extension: undefined, attributes: ownAttributes(type) }
  const extension = extensionNamed(type, schema)
  return extension && { extension, attributes: extension.attributes }
}

/** Undefined where no schema knows the attribute. */
export const findPlace = (type: ResourceType, text: string): Place | undefined => {
  if (text.length > mostCharacters)
    throw invalidPath(`the path has more than ${mostCharacters} characters`)
  const whole = extensionNamed(type, text)
  if (whole) return { whole }
  const open = text.indexOf('[')
  const close = text.lastIndexOf(']')
  if (open === -1 ? close !== -1 : close < open)
    throw invalidPath('the brackets of the path do not match')
  const path = attributePath(open === -1 ? text : text.slice(0, open))
  if (!path) throw invalidPath(`"${text.slice(0, 80)}" is no attribute path`)
  const place = placeOf(type, path)
  const attribute = named(place?.attributes, path.name)
  if (!place || !attribute) return undefined
  const after = open === -1 ? '' : text.slice(close + 1)
  if (after !== '' && !/^\.[A-Za-z$][\w$-]*$/.test(after))
    throw invalidPath(`"${after.slice(0, 80)}" is not expected after the filter`)
  const subName = after === '' ? path.sub : after.slice(1)
  const sub = subName === undefined ? undefined : named(attribute.subAttributes, subName)
  if (subName !== undefined && !sub) return undefined
  if (open !== -1 && (!attribute.multiValued || path.sub !== undefined))
    throw invalidPath(`${attribute.name} is no list that a filter could choose from`)
  const filter = open === -1 ? undefined : parseScimFilter(text.slice(open + 1, close), invalidPath)
  if (filter) refuseUnknownPaths(filter, attribute.subAttributes ?? [], invalidPath)
  return { extension: place.extension, attribute, filter, sub }
}

export const placeNamed = (type: ResourceType, text: string): Place => {
  const place = findPlace(type, text)
  if (!place) throw invalidPath(`${type.name} has no attribute "${text.slice(0, 200)}"`)
  return place
}
