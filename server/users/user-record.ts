/** The user as the admin API shows it and as the table holds it. */

import { type FieldError, invalid } from '#schemas/problems.ts'
import type { Attributes, UserFields, UserRecord } from '#schemas/wire/records.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { emailErrors, nameOf, usernameErrors } from './names.ts'

/** What other tables know of a user. */
export interface UserSurroundings {
  readonly roles: readonly string[]
  /** Types of the credentials that the user has. */
  readonly credentialTypes: readonly string[]
  /** Whether failed attempts have locked the user for now. */
  readonly lockedByFailures: boolean
}

/** What a user has who was given nothing but a name. */
export const userDefaults: Omit<UserFields, 'username'> = {
  email: null,
  emailVerified: false,
  firstName: null,
  lastName: null,
  enabled: true,
  locked: false,
  attributes: {},
  requiredActions: [],
}

export const userRecord = (row: UserRow, around: UserSurroundings): UserRecord => ({
  realmId: row.realm,
  userId: row.id,
  ...fieldsOf(row),
  locked: row.locked === 1 || around.lockedByFailures,
  mfaEnabled: around.credentialTypes.some((type) => type !== 'password'),
  roles: [...around.roles].sort(),
  managed: row.managed === 1,
  createdAt: row.created_at,
})

export const fieldsOf = (row: UserRow): UserFields => ({
  username: row.username,
  email: row.email,
  emailVerified: row.email_verified === 1,
  firstName: row.first_name,
  lastName: row.last_name,
  enabled: row.enabled === 1,
  locked: row.locked === 1,
  attributes: JSON.parse(row.attributes) as Attributes,
  requiredActions: JSON.parse(row.required_actions) as string[],
})

/** The row of a new user; fields that are left out have their defaults. Throws a problem that names wrong fields. */
export const newUserRow = (
  fields: Partial<UserFields> & Pick<UserFields, 'username'>,
  identity: { id: string; realm: string; managed?: boolean; now: number },
): UserRow => ({
  id: identity.id,
  realm: identity.realm,
  ...columnsOf({ ...userDefaults, ...fields }),
  managed: identity.managed === true ? 1 : 0,
  version: 1,
  created_at: identity.now,
  updated_at: identity.now,
})

/** The row after a change; fields that are left out stay. Throws a problem that names wrong fields. */
export const changedUserRow = (
  before: UserRow,
  fields: Partial<UserFields> & { managed?: boolean },
  now: number,
): UserRow => {
  const { managed = before.managed === 1, ...changes } = fields
  return {
    ...before,
    ...columnsOf({ ...fieldsOf(before), ...changes }),
    managed: managed ? 1 : 0,
    version: before.version + 1,
    updated_at: now,
  }
}

const storableErrors = (field: string, value: string | null): FieldError[] => {
  const reason = refusal(value)
  return reason === undefined ? [] : [{ field, code: 'format', message: `is ${reason}` }]
}

type FieldColumns = Omit<
  UserRow,
  'id' | 'realm' | 'managed' | 'version' | 'created_at' | 'updated_at'
>

const columnsOf = (fields: UserFields): FieldColumns => {
  const errors: FieldError[] = [
    ...usernameErrors(fields.username),
    ...(fields.email === null ? [] : emailErrors(fields.email)),
    ...storableErrors('/firstName', fields.firstName),
    ...storableErrors('/lastName', fields.lastName),
  ]
  if (errors.length > 0) throw invalid(errors)
  const username = nameOf(fields.username)
  const email = fields.email === null ? null : nameOf(fields.email)
  return {
    username: username.value,
    username_key: username.key,
    email: email?.value ?? null,
    email_key: email?.key ?? null,
    email_verified: fields.emailVerified ? 1 : 0,
    first_name: fields.firstName,
    last_name: fields.lastName,
    enabled: fields.enabled ? 1 : 0,
    locked: fields.locked ? 1 : 0,
    attributes: JSON.stringify(fields.attributes),
    required_actions: JSON.stringify(fields.requiredActions),
  }
}
