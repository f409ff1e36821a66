/**
 * A user as a SCIM resource (RFC 7643 §4.1), by the mapping of the target. Attributes stand side by side under the path by which
 * PATCH names them, those of an extension too; a resource nests them.
 */

import { type ScimPath, scimPathOf, unmapped } from '#schemas/drivers/scim-mapping.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import { type Digests, digestsOf } from './digests.ts'
import type { ScimTargetInUse } from './target.ts'

export type ScimAttributes = Readonly<Record<string, unknown>>

const coreUser = 'urn:ietf:params:scim:schemas:core:2.0:User'

const sourceOf = (user: UserRow): ((source: string) => string | undefined) => {
  const fields = fieldsOf(user)
  const known: Readonly<Record<string, string | null>> = {
    username: fields.username,
    email: fields.email,
    firstName: fields.firstName,
    lastName: fields.lastName,
    id: user.id,
  }
  return (source) => {
    if (Object.hasOwn(known, source)) return known[source] || undefined
    const name = source.slice('attributes.'.length)
    const values = Object.hasOwn(fields.attributes, name) ? fields.attributes[name] : undefined
    return values?.find((value) => value !== '')
  }
}

const keyOf = ({ schema, attribute }: ScimPath): string =>
  schema === undefined ? attribute : `${schema}:${attribute}`

type Element = Readonly<Record<string, unknown>>

/** The attribute with one value of it set, or taken out. */
const withValue = (before: unknown, path: ScimPath, value: string | undefined): unknown => {
  const { type, sub } = path
  if (type !== undefined) {
    const list = Array.isArray(before) ? (before as readonly Element[]) : []
    const others = list.filter((one) => one['type'] !== type)
    if (value === undefined) return others.length > 0 ? others : undefined
    // The rest of the element stays: a work address is still the primary one.
    const own = list.find((one) => one['type'] === type)
    return [...others, { ...own, type, [sub ?? 'value']: value }]
  }
  if (sub === undefined) return value
  const members = { ...(before as Element | undefined) }
  delete members[sub]
  const after = value === undefined ? members : { ...members, [sub]: value }
  return Object.keys(after).length > 0 ? after : undefined
}

const usualAttributes = (user: UserRow, { profile }: ScimTargetInUse): Map<string, unknown> => {
  const { username, first_name, last_name, email } = user
  const standIn = profile.needsNames ? username : null
  const givenName = first_name || standIn
  const familyName = last_name || standIn
  const full = [first_name, last_name].filter(Boolean).join(' ')
  const name = { ...(givenName ? { givenName } : {}), ...(familyName ? { familyName } : {}) }
  return new Map<string, unknown>([
    ['userName', username],
    ['externalId', user.id],
    ...(givenName || familyName ? [['name', name] as const] : []),
    ['displayName', full || username],
    ...(email ? [['emails', [{ value: email, type: 'work', primary: true }]] as const] : []),
  ])
}

/** Signing in is what `active` is about: an administrator's lock counts as well. */
const isActive = ({ enabled, locked }: UserRow): boolean => enabled === 1 && locked === 0

export const attributesOf = (user: UserRow, target: ScimTargetInUse): ScimAttributes => {
  const attributes = usualAttributes(user, target)
  const fieldNamed = sourceOf(user)
  for (const [text, source] of Object.entries(target.doc.mapping)) {
    const path = scimPathOf(text)
    if (!path) continue
    const key = keyOf(path)
    const value = source === unmapped ? undefined : fieldNamed(source)
    const after = withValue(attributes.get(key), path, value)
    if (after === undefined) attributes.delete(key)
    else attributes.set(key, after)
  }
  return { ...Object.fromEntries(attributes), active: isActive(user) }
}

export const userNameIn = ({ userName }: ScimAttributes): string | undefined =>
  typeof userName === 'string' ? userName : undefined

/** The schema and the name of an attribute of an extension. */
const extensionOf = (key: string): { schema: string; name: string } | undefined => {
  if (!key.startsWith('urn:')) return undefined
  const cut = key.lastIndexOf(':')
  return { schema: key.slice(0, cut), name: key.slice(cut + 1) }
}

/** The resource as it is sent whole. */
export const resourceOf = (attributes: ScimAttributes): Record<string, unknown> => {
  const resource: Record<string, unknown> = {}
  const schemas = [coreUser]
  for (const [key, value] of Object.entries(attributes)) {
    const extension = extensionOf(key)
    if (!extension) resource[key] = value
    else {
      const { schema, name } = extension
      if (!schemas.includes(schema)) schemas.push(schema)
      resource[schema] = { ...(resource[schema] as object | undefined), [name]: value }
    }
  }
  return { schemas, ...resource }
}

export interface PatchOperation {
  readonly op: 'replace' | 'remove'
  readonly path: string
  readonly value?: unknown
}

/** Attributes that differ from what was sent, each by its path. A target keeps parts of a value that it is not told of: they are removed. */
export const changesSince = (sent: Digests, attributes: ScimAttributes): PatchOperation[] => {
  const wanted = digestsOf(attributes)
  const lost = new Set(Object.keys(sent).filter((key) => !Object.hasOwn(wanted, key)))
  return [
    ...Object.entries(attributes)
      .filter(([key]) => sent[key] !== wanted[key])
      .map(([path, value]) => ({ op: 'replace' as const, path, value })),
    ...[...lost]
      .filter((key) => !lost.has(key.slice(0, key.lastIndexOf('.'))))
      .map((path) => ({ op: 'remove' as const, path })),
  ]
}

/** What a target has of an attribute, cut to what is sent of it: targets add members of their own. */
const cutTo = (wanted: unknown, actual: unknown): unknown => {
  if (Array.isArray(wanted)) {
    const list = Array.isArray(actual) ? actual : []
    return list.map((one, i) => cutTo(wanted[i] ?? wanted[0], one))
  }
  if (typeof wanted !== 'object' || wanted === null) return actual
  const has = (typeof actual === 'object' && actual !== null ? actual : {}) as Element
  return Object.fromEntries(
    Object.entries(wanted)
      .filter(([name]) => has[name] !== undefined)
      .map(([name, value]) => [name, cutTo(value, has[name])]),
  )
}

const actualOf = (resource: Readonly<Record<string, unknown>>, key: string): unknown => {
  const extension = extensionOf(key)
  return extension
    ? (resource[extension.schema] as Element | undefined)?.[extension.name]
    : resource[key]
}

/** The target's own values of the attributes that are sent. */
export const observedIn = (
  resource: Readonly<Record<string, unknown>>,
  attributes: ScimAttributes,
): ScimAttributes =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([key, wanted]) => {
      const actual = actualOf(resource, key)
      if (actual === undefined || actual === null) return []
      // A target may fold the case of usernames (RFC 7643 §4.1.1).
      const isSameName =
        key === 'userName' && String(actual).toLowerCase() === String(wanted).toLowerCase()
      return [[key, isSameName ? wanted : cutTo(wanted, actual)]]
    }),
  )
