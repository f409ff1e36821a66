/** Shared by the user actions: their dependencies, and the reply of a user. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { requiredActions } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { UserRecord } from '#schemas/wire/records.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { credentialTypesOf } from '#server/credentials/credentials.ts'
import type { BruteForce } from '#server/credentials/guessing/brute-force.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { conditionsIn, isMet, unmet } from '#server/http/etag.ts'
import type { Clock } from '#server/platform/clock.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { LastAdmin } from '#server/realm/rules/last-admin.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { endSessionsOf } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userRolesOf } from '#server/users/memberships.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { userRecord } from '#server/users/user-record.ts'
import { setRequiredActions } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import type { ActionContext } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface UserParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly writer: Writer
  readonly users: Users
  readonly passwords: Passwords
  readonly ranks: Ranks
  readonly addressNotice: AddressNotice
  readonly lastAdmin: Pick<LastAdmin, 'aroundData'>
  readonly sessions: Sessions
  readonly bruteForce: BruteForce
  readonly clock: Clock
}

const address: JsonSchema = {
  type: ['string', 'null'],
  maxLength: 320,
  'x-described': { format: 'email' },
}
const name: JsonSchema = { type: ['string', 'null'], maxLength: 255 }

/** What may be written of a user over REST. */
export const userFields: Readonly<Record<string, JsonSchema>> = {
  username: {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    'x-described': { format: 'username' },
  },
  email: address,
  emailVerified: { type: 'boolean' },
  firstName: name,
  lastName: name,
  enabled: { type: 'boolean' },
  locked: { type: 'boolean' },
  attributes: {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', maxLength: 4000 } },
  },
  requiredActions: {
    type: 'array',
    uniqueItems: true,
    items: { type: 'string', enum: requiredActions },
  },
}

export const readOnlyUserFields: Readonly<Record<string, JsonSchema>> = {
  realmId: { type: 'string', readOnly: true },
  userId: { type: 'string', format: 'uuid', readOnly: true },
  mfaEnabled: { type: 'boolean', readOnly: true },
  roles: { type: 'array', items: { type: 'string' }, readOnly: true },
  managed: { type: 'boolean', readOnly: true, description: 'Whether a file declares the user.' },
  createdAt: { type: 'integer', readOnly: true },
}

const everyField = { ...readOnlyUserFields, ...userFields }

export const userSchema: JsonSchema = {
  type: 'object',
  properties: everyField,
  required: Object.keys(everyField),
  additionalProperties: false,
}

export const userIn = async (
  { users }: UserParts,
  { realm, params }: ActionContext,
): Promise<UserRow> => {
  const id = params['userId'] ?? ''
  const user = await users.find(realm, id)
  if (!user) throw new Problem('not-found', `there is no user "${id}"`)
  return user
}

/** The user of the path; a user who holds permissions that the caller lacks is refused. */
export const userToChange = async (parts: UserParts, context: ActionContext): Promise<UserRow> => {
  const user = await userIn(parts, context)
  await parts.ranks.refuseUnlessOutranked(context.view, context.caller.permissions, user.id)
  return user
}

/** The settings of the realm that the request is about. */
export const settingsIn = async ({ view }: Pick<ActionContext, 'view'>): Promise<SettingsDoc> =>
  contentOf<SettingsDoc>(await findIn(view, Settings, Settings.kind))

interface Membership {
  readonly user_id: string
}

const grouped = <T extends Membership>(rows: readonly T[]): Map<string, T[]> =>
  Map.groupBy(rows, ({ user_id }) => user_id)

/** Users with their roles, factors and locks: four queries, however many users. */
export const showUsers = async (
  { storage, bruteForce }: UserParts,
  view: RealmView,
  rows: readonly UserRow[],
): Promise<UserRecord[]> => {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const [roles, credentials, locked] = await Promise.all([
    userRolesOf(storage, ids),
    credentialTypesOf(storage, ids),
    settingsIn({ view }).then((settings) => bruteForce.locked(view.realm, ids, settings)),
  ])
  const names = new Map<string, string>()
  for (const id of new Set(roles.map(({ role_id }) => role_id))) {
    const role = await view.byId('role', id)
    if (role) names.set(id, role.key)
  }
  const rolesOf = grouped(roles)
  const credentialsOf = grouped(credentials)
  return rows.map((row) =>
    userRecord(row, {
      roles: (rolesOf.get(row.id) ?? []).flatMap(({ role_id }) => names.get(role_id) ?? []),
      credentialTypes: (credentialsOf.get(row.id) ?? []).map(({ type }) => type),
      lockedByFailures: locked.has(row.id),
    }),
  )
}

export const showUser = async (
  parts: UserParts,
  view: RealmView,
  row: UserRow,
): Promise<UserRecord> => {
  const [shown] = await showUsers(parts, view, [row])
  if (!shown) throw new Problem('not-found', `there is no user "${row.id}"`)
  return shown
}

export const userEvent = (
  context: ActionContext,
  type: EventType,
  userId: string,
  detail?: string,
): AuditEvent => actionEvent(context, type, { type: 'users', id: userId }, detail)

/**
 * Whether the user must choose another password at the next sign-in. One that is meant to last ends such a wish, as in
 * Keycloak.
 */
export const wishForPassword = (
  { storage }: Pick<UserParts, 'storage'>,
  user: UserRow,
  temporary: boolean,
): Statement[] => {
  const actions = new Set(JSON.parse(user.required_actions) as string[])
  if (actions.has('UPDATE_PASSWORD') === temporary) return []
  if (temporary) actions.add('UPDATE_PASSWORD')
  else actions.delete('UPDATE_PASSWORD')
  return [setRequiredActions(storage, user, [...actions])]
}

/** Ends all sessions that used the old password, except the session of this request. */
export const endOtherSessions = (
  { storage: { db }, clock }: UserParts,
  { caller }: ActionContext,
  userId: string,
): Statement[] => endSessionsOf(db, [userId], clock.now(), caller.session)

export const userEtag = ({ version }: UserRow): string => `"${version}"`

/** `*` asks that there is a user, which a change does anyway. */
export const asksForMatch = ({ request }: ActionContext): boolean =>
  !['*', undefined].includes(request.headers['if-match']?.trim())

export const refuseStale = ({ request }: ActionContext, user: UserRow): void => {
  const conditions = conditionsIn(request.headers)
  if (!isMet(conditions, userEtag(user)))
    throw new Problem('precondition-failed', `the user ${unmet(conditions)}`)
}
