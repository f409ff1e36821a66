/**
 * Writes of users by SCIM. Each is one transaction with its audit event; one that changes nothing writes nothing. A user who is
 * deactivated has no session and no token when the answer goes out.
 */

import { isDeepStrictEqual } from 'node:util'
import { invalid } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { LastAdmin } from '#server/realm/rules/last-admin.ts'
import type { Writer } from '#server/realm/write/write.ts'
import { endSessionsOf } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { insertUserRoles } from '#server/users/memberships.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import { holdUserVersion } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { type ScimCall, scimEvent } from '../caller.ts'
import { forbidden } from '../errors.ts'
import { explainExternalId, nameNewUser, nameUser } from '../external-ids.ts'
import type { Resource } from '../schema/attribute.ts'
import { changeManagedUser, deleteManagedUser } from './managed.ts'
import { type StatedUser, statedUser } from './resource.ts'

export interface UserWriteParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly recorder: Recorder
  readonly writer: Writer
  readonly users: Users
  readonly passwords: Passwords
  readonly ranks: Ranks
  readonly sessions: Sessions
  readonly lastAdmin: Pick<LastAdmin, 'aroundData'>
  readonly addressNotice: AddressNotice
}

/** A user with the name that the sender has for them. */
export interface KnownUser {
  readonly row: UserRow
  readonly externalId: string | undefined
}

export interface UserWrites {
  /** Refused by a foreign key where the default role was deleted meanwhile. */
  create(call: ScimCall, resource: Resource): Promise<KnownUser>
  /** Makes the user equal to the resource. Fails the guard `user:<id>` after a concurrent change. */
  replace(call: ScimCall, known: KnownUser, resource: Resource): Promise<void>
  /** Fails the guard `user:<id>` where the user is gone or, if that counts, was changed. */
  remove(call: ScimCall, row: UserRow, isConditional: boolean): Promise<void>
}

const contentOf = ({ attributes, version: _, updated_at: __, ...row }: UserRow) => ({
  ...row,
  attributes: JSON.parse(attributes) as unknown,
})

const isSame = (before: UserRow, after: UserRow): boolean =>
  isDeepStrictEqual(contentOf(before), contentOf(after))

export const createUserWrites = (parts: UserWriteParts): UserWrites => {
  const { storage, clock, recorder, writer, users, passwords, ranks, sessions, lastAdmin } = parts

  const explain = async (error: unknown, row: UserRow): Promise<unknown> =>
    users.explain(explainExternalId(error), row)

  const passwordOf = async (
    { settings }: ScimCall,
    row: UserRow,
    password: string | undefined,
  ): Promise<readonly Statement[]> => {
    if (password === undefined) return []
    const { statements, errors } = await passwords.prepare(settings, row, password, 'password')
    if (errors.length > 0) throw invalid(errors)
    return statements
  }

  /** New users get the default role: one that administers must not be had by a sender's word. */
  const defaultRoleOf = async ({ view, settings }: ScimCall): Promise<string | undefined> => {
    const role = await view.get('role', settings.defaultRole)
    const [held] = role ? await ranks.permissionsOfRoles(view, [role]) : []
    if (held !== undefined)
      throw forbidden(`the default role of the realm grants ${held}: SCIM makes no administrators`)
    return role?.id
  }

  /**
   * An administrator is not changed by a sender, whose password or address would be a way in. To lock one out is allowed: a
   * leaver is a leaver.
   */
  const refuseAdministrator = async (
    { view }: ScimCall,
    before: UserRow,
    isLeaver: boolean,
  ): Promise<void> => {
    if (isLeaver) return
    const [held] = await ranks.permissionsOf(view, before.id)
    if (held !== undefined)
      throw forbidden(`the user holds ${held}: SCIM deactivates administrators and changes no more`)
  }

  /** The document of a managed user follows what was read of the user: a concurrent change means to read again. */
  const unchanged = (row: UserRow): Statement[] => [holdUserVersion(storage, row, 'final:user')]

  const replaceManaged = async (
    call: ScimCall,
    { row: before, externalId }: KnownUser,
    stated: StatedUser,
    password: readonly Statement[],
    events: readonly AuditEvent[],
  ): Promise<void> => {
    const isRenamed = (externalId ?? null) !== stated.externalId
    await changeManagedUser(writer, call, before, stated, (changes) => ({
      guards: unchanged(before),
      statements: [
        ...(isRenamed ? [nameUser(storage, call, before.id, stated.externalId)] : []),
        ...password,
      ],
      // The event of the document is there where it changes.
      events: [
        ...(changes > 0 ? [] : [scimEvent(call, 'ADMIN_UPDATE', { type: 'users', id: before.id })]),
        ...events,
      ],
    }))
  }

  return {
    create: async (call, resource) => {
      const { realm } = call
      const { fields, externalId, password } = statedUser(resource, undefined)
      const roleId = await defaultRoleOf(call)
      const row = newUserRow(fields, { id: newId(), realm, now: clock.now() })
      const secret = await passwordOf(call, row, password)
      try {
        await recorder.commit(
          [
            ...users.createStatements(row),
            ...(roleId === undefined
              ? []
              : insertUserRoles(storage, [{ user_id: row.id, role_id: roleId, by_default: 1 }])),
            ...nameNewUser(storage, call, row.id, externalId),
            ...secret,
          ],
          [scimEvent(call, 'ADMIN_CREATE', { type: 'users', id: row.id })],
        )
      } catch (error) {
        throw await explain(error, row)
      }
      return { row, externalId: externalId ?? undefined }
    },

    replace: async (call, known, resource) => {
      const { row: before, externalId } = known
      const stated = statedUser(resource, before)
      const { fields, password } = stated
      const now = clock.now()
      const after = changedUserRow(before, fields, now)
      const isOut = before.enabled === 1 && after.enabled === 0
      const isNamed = (externalId ?? null) === stated.externalId
      if (isSame(before, after) && isNamed && password === undefined) return
      const isLeaver =
        isOut && isNamed && password === undefined && isSame({ ...before, enabled: 0 }, after)
      await refuseAdministrator(call, before, isLeaver)
      const secret = await passwordOf(call, after, password)
      const reset =
        password === undefined
          ? []
          : [scimEvent(call, 'RESET_PASSWORD', { type: 'users', id: before.id })]
      const endOfSessions =
        password === undefined ? [] : endSessionsOf(storage.db, [before.id], now)
      try {
        if (before.managed === 1)
          return await replaceManaged(call, known, stated, [...secret, ...endOfSessions], reset)
        const statements = [
          ...users.updateStatements(before, after),
          ...(isOut ? sessions.revokeAllOf(before.id) : []),
          ...(isNamed ? [] : [nameUser(storage, call, before.id, stated.externalId)]),
          ...secret,
          ...endOfSessions,
          ...(await parts.addressNotice.statements(call.view, [{ before, after }])),
        ]
        await recorder.commit(
          await lastAdmin.aroundData(call.view, isOut ? [before] : [], statements),
          [scimEvent(call, 'ADMIN_UPDATE', { type: 'users', id: before.id }), ...reset],
        )
      } catch (error) {
        if (error instanceof GuardFailedError) throw error
        throw await explain(error, after)
      }
      parts.addressNotice.wake()
    },

    remove: async (call, row, isConditional) => {
      await refuseAdministrator(call, row, false)
      if (row.managed === 1) return deleteManagedUser(writer, call, row, unchanged(row))
      await recorder.commit(
        await lastAdmin.aroundData(
          call.view,
          [row],
          [
            ...(isConditional ? users.updateStatements(row, row) : []),
            ...sessions.revokeAllOf(row.id),
            ...users.deleteStatements(row.id, clock.now()),
          ],
        ),
        [scimEvent(call, 'ADMIN_DELETE', { type: 'users', id: row.id })],
      )
    },
  }
}
