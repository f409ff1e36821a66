/** A user of the realm as a resource of SCIM (RFC 7643 §4.1), and what a resource says of a user. */

import type { Attributes, UserFields } from '#schemas/wire/records.ts'
import { isUuid } from '#server/platform/ids.ts'
import { sha256 } from '#server/platform/random.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { ScimCall } from '../caller.ts'
import { invalidValue } from '../errors.ts'
import { externalIdIn } from '../external-ids.ts'
import type { Complex, Resource } from '../schema/attribute.ts'
import { enterpriseSchema, userType } from '../schema/user-schema.ts'
import { emailIn, emailsOf, readAttributes, writeAttributes } from './attributes.ts'

export interface UserGroup {
  readonly id: string
  readonly display: string
}

export interface UserSurroundings {
  readonly externalId: string | undefined
  /** In the order of their ids. */
  readonly groups: readonly UserGroup[]
}

const longestName = 255
const uuidUrn = 'urn:uuid:'

/** A username is never shaped like an id here; SCIM allows it. It is stored as a URN (RFC 9562 §4). */
export const storedName = (userName: string): string =>
  isUuid(userName) ? `${uuidUrn}${userName}` : userName

const shownName = (username: string): string => {
  const rest = username.startsWith(uuidUrn) ? username.slice(uuidUrn.length) : ''
  return isUuid(rest) ? rest : username
}

/** Groups are part of the resource, and no part of the row: their digest is a part of the version (RFC 7644 §3.14). */
export const userVersion = (
  { version }: Pick<UserRow, 'version'>,
  groups: readonly UserGroup[],
): string =>
  groups.length === 0
    ? `W/"${version}"`
    : `W/"${version}.${sha256(JSON.stringify(groups)).slice(0, 16)}"`

/** What PATCH works on: the attributes that a sender may write. */
export const writableUser = (row: UserRow, externalId: string | undefined): Resource => {
  const attributes = JSON.parse(row.attributes) as Attributes
  const { name: more, ...others } = readAttributes(attributes)
  const name = {
    ...(more as Complex),
    ...(row.last_name === null ? {} : { familyName: row.last_name }),
    ...(row.first_name === null ? {} : { givenName: row.first_name }),
  }
  const emails = emailsOf(row.email, attributes)
  return {
    ...(externalId === undefined ? {} : { externalId }),
    userName: shownName(row.username),
    ...(Object.keys(name).length > 0 ? { name } : {}),
    active: row.enabled === 1,
    ...(emails.length > 0 ? { emails } : {}),
    ...others,
  }
}

export const userResource = (
  { base }: Pick<ScimCall, 'base'>,
  row: UserRow,
  { externalId, groups }: UserSurroundings,
): Resource => {
  const { [enterpriseSchema.id]: extension, ...own } = writableUser(row, externalId)
  return {
    schemas: [userType.core.id, ...(extension === undefined ? [] : [enterpriseSchema.id])],
    id: row.id,
    ...own,
    ...(groups.length > 0
      ? {
          groups: groups.map(({ id, display }) => ({
            value: id,
            $ref: `${base}/Groups/${id}`,
            display,
            type: 'direct',
          })),
        }
      : {}),
    ...(extension === undefined
      ? {}
      : {
          [enterpriseSchema.id]: extension,
        }),
    meta: {
      resourceType: userType.name,
      created: new Date(row.created_at).toISOString(),
      lastModified: new Date(row.updated_at).toISOString(),
      location: `${base}/Users/${row.id}`,
      version: userVersion(row, groups),
    },
  }
}

/** What a resource says; `active` where it says nothing stays as it is. */
export interface StatedUser {
  readonly fields: Omit<UserFields, 'locked' | 'requiredActions'>
  readonly externalId: string | null
  readonly password: string | undefined
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const nameIn = (name: Complex, part: 'givenName' | 'familyName'): string | null => {
  const given = text(name[part])
  if (given !== null && given.length > longestName)
    throw invalidValue(`name.${part} has more than ${longestName} characters`)
  return given
}

export const statedUser = (resource: Resource, before: UserRow | undefined): StatedUser => {
  const name = (resource['name'] ?? {}) as Complex
  const email = emailIn(resource)
  const active = resource['active'] as boolean | undefined
  const attributes = before ? (JSON.parse(before.attributes) as Attributes) : {}
  return {
    fields: {
      username: storedName(String(resource['userName'] ?? '')),
      email,
      // An address that a sender claims is not verified by that; the one that was verified here stays so.
      emailVerified: before?.email_verified === 1 && before.email === email,
      firstName: nameIn(name, 'givenName'),
      lastName: nameIn(name, 'familyName'),
      enabled: active ?? (before ? before.enabled === 1 : true),
      attributes: writeAttributes(attributes, resource),
    },
    externalId: externalIdIn(resource),
    password: text(resource['password']) ?? undefined,
  }
}
