/** Which attributes a response has: `attributes` and `excludedAttributes` (RFC 7644 §3.9). */

import { type AttributePath, attributePath } from '#schemas/text/scim-filter.ts'
import { invalidValue } from './errors.ts'
import type { Asked } from './paging.ts'
import {
  extensionNamed,
  isComplex,
  type Resource,
  type ResourceType,
  type Value,
} from './schema/attribute.ts'

export interface Projection {
  /** Whether the response has the attribute, or a part of it: for what costs a query. */
  has(name: string): boolean
  of(resource: Resource): Resource
}

const always: ReadonlySet<string> = new Set(['id', 'schemas'])
/** More than all attributes that there are, with their parts: each is compared with each attribute of each resource. */
const mostNames = 200

const isSame = (some: string, other: string): boolean => some.toLowerCase() === other.toLowerCase()

const pathsIn = (type: ResourceType, text: string | undefined): AttributePath[] | undefined => {
  const names = text?.split(',').flatMap((one) => one.trim() || [])
  if (!names || names.length === 0) return undefined
  if (names.length > mostNames) throw invalidValue(`more than ${mostNames} attributes are named`)
  return names.flatMap((one) => {
    const whole = (name: string): AttributePath => ({ schema: undefined, name, sub: undefined })
    // A schema stands for all of its attributes.
    if (isSame(one, type.core.id)) return type.core.attributes.map(({ name }) => whole(name))
    const urn = extensionNamed(type, one)
    const path = urn ? whole(urn.id) : attributePath(one)
    if (!path) throw invalidValue(`"${one.slice(0, 80)}" is no attribute`)
    return [path]
  })
}

/** The paths below a name at the top of the resource, as paths of its value. */
const below = (
  type: ResourceType,
  paths: readonly AttributePath[],
  name: string,
): (AttributePath | 'whole')[] =>
  paths.flatMap((path): (AttributePath | 'whole')[] => {
    const { schema } = path
    if (schema !== undefined && !isSame(schema, type.core.id))
      return isSame(schema, name) ? [{ ...path, schema: undefined }] : []
    if (!isSame(path.name, name)) return []
    return path.sub === undefined
      ? ['whole']
      : [{ schema: undefined, name: path.sub, sub: undefined }]
  })

/** What is left of a value without its parts is no value (RFC 7643 §2.5). */
const isEmpty = (value: Value): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.length === 0) ||
  (isComplex(value) && Object.keys(value).length === 0)

const pick = (value: Value, paths: readonly AttributePath[], chosen: boolean): Value => {
  if (Array.isArray(value))
    return value.map((one) => pick(one, paths, chosen)).filter((one) => !isEmpty(one))
  if (!isComplex(value)) return chosen ? value : undefined
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const own = paths.filter((path) => isSame(path.name, name))
      const subs = own.flatMap(({ sub }) =>
        sub === undefined ? [] : [{ schema: undefined, name: sub, sub: undefined }],
      )
      if (own.some(({ sub }) => sub === undefined)) return chosen ? [[name, inner]] : []
      if (subs.length > 0) {
        const picked = pick(inner, subs, chosen)
        return isEmpty(picked) ? [] : [[name, picked]]
      }
      return chosen ? [] : [[name, inner]]
    }),
  )
}

export const readProjection = (type: ResourceType, asked: Asked): Projection => {
  const wanted = pathsIn(type, asked['attributes'])
  const unwanted = wanted ? undefined : pathsIn(type, asked['excludedAttributes'])
  const has = (name: string): boolean => {
    if (always.has(name)) return true
    if (wanted) return below(type, wanted, name).length > 0
    return !unwanted || !below(type, unwanted, name).includes('whole')
  }
  const of = (resource: Resource): Resource => {
    const paths = wanted ?? unwanted
    if (!paths) return resource
    return Object.fromEntries(
      Object.entries(resource).flatMap(([name, value]) => {
        if (always.has(name)) return [[name, value]]
        const own = below(type, paths, name)
        if (own.includes('whole')) return wanted ? [[name, value]] : []
        const parts = own.filter((path) => path !== 'whole')
        if (parts.length === 0) return wanted ? [] : [[name, value]]
        const picked = pick(value, parts, wanted !== undefined)
        return isEmpty(picked) ? [] : [[name, picked]]
      }),
    )
  }
  return { has, of }
}
