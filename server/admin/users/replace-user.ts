/** PUT …/users/{userId}: replaces the fields of a user; those of a managed user as configuration. */

import { isDeepStrictEqual } from 'node:util'
import { type FieldError, invalid } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { UserFields, UserRecord } from '#schemas/wire/records.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow, userDefaults } from '#server/users/user-record.ts'
import { setLocked } from '#server/users/user-rows.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'
import { changeManagedUser } from './managed-user.ts'
import {
  readOnlyUserFields,
  refuseStale,
  showUser,
  type UserParts,
  userEtag,
  userEvent,
  userFields,
  userIn,
  userSchema,
  userToChange,
} from './users.ts'

const withoutReadOnly = (body: ActionContext['body'], shown: UserRecord): Partial<UserFields> => {
  const errors: FieldError[] = []
  const rest = { ...body }
  for (const field of Object.keys(readOnlyUserFields)) {
    const same = isDeepStrictEqual(rest[field], shown[field as keyof UserRecord])
    if (field in rest && !same)
      errors.push({ field: `/${field}`, code: 'read-only', message: 'is set by the server' })
    delete rest[field]
  }
  if (errors.length > 0) throw invalid(errors)
  return rest
}

/** How a lock changes, against what the caller was shown. */
interface LockChange {
  readonly locked: boolean
  readonly statements: readonly Statement[]
  readonly events: readonly EventType[]
}

/** Whether the row says anything new. */
const isSame = (before: UserRow, after: UserRow): boolean =>
  isDeepStrictEqual(
    { ...before },
    { ...after, version: before.version, updated_at: before.updated_at },
  )

/** Attempts after concurrent changes of the user. */
const rounds = 50

export const replaceUser = (parts: UserParts): Action => {
  /** Repeating the lock that was shown changes nothing: one by failed attempts still ends by itself. */
  const lockChange = (before: UserRow, shown: UserRecord, wanted: boolean): LockChange => {
    if (wanted === shown.locked) return { locked: before.locked === 1, statements: [], events: [] }
    return wanted
      ? { locked: true, statements: [], events: ['USER_LOCKED'] }
      : {
          locked: false,
          statements: parts.bruteForce.unlockStatements(before.realm, before.id),
          events: ['USER_UNLOCKED'],
        }
  }

  const replaceData = async (
    context: ActionContext,
    before: UserRow,
    fields: UserFields,
    lock: LockChange,
  ): Promise<void> => {
    const after = changedUserRow(before, { ...fields, locked: lock.locked }, parts.clock.now())
    if (isSame(before, after) && lock.events.length === 0) return
    const isOut = after.enabled === 0 || after.locked === 1
    const statements = [
      ...parts.users.updateStatements(before, after),
      ...(before.enabled === 1 && !fields.enabled ? parts.sessions.revokeAllOf(before.id) : []),
      ...lock.statements,
      ...(await parts.addressNotice.statements(context.view, [{ before, after }])),
    ]
    try {
      await parts.recorder.commit(
        await parts.lastAdmin.aroundData(context.view, isOut ? [before] : [], statements),
        [
          userEvent(context, 'ADMIN_UPDATE', before.id),
          ...lock.events.map((type) => userEvent(context, type, before.id)),
        ],
      )
    } catch (error) {
      throw await parts.users.explain(error, after)
    }
  }

  const replaceManaged = async (
    context: ActionContext,
    before: UserRow,
    fields: UserFields,
    lock: LockChange,
  ): Promise<void> => {
    const { locked: _, email, firstName, lastName, attributes, requiredActions, ...rest } = fields
    const flag = setLocked(parts.storage, before.id, lock.locked)
    const change = () => ({
      ...rest,
      attributes: attributes as Record<string, string[]>,
      requiredActions: [...requiredActions] as never,
      ...Object.fromEntries(
        Object.entries({ email, firstName, lastName }).map(([name, value]) => [
          name,
          value ?? undefined,
        ]),
      ),
    })
    const data =
      lock.events.length === 0
        ? undefined
        : {
            statements: await parts.lastAdmin.aroundData(
              context.view,
              lock.locked ? [before] : [],
              [...flag, ...lock.statements],
            ),
            events: lock.events.map((type) => userEvent(context, type, before.id)),
          }
    try {
      await changeManagedUser(parts, context, before, change, data)
    } catch (error) {
      throw await parts.users.explain(error, changedUserRow(before, fields, parts.clock.now()))
    }
  }

  const replace = async (context: ActionContext): Promise<UserRow> => {
    const before = await userToChange(parts, context)
    refuseStale(context, before)
    const shown = await showUser(parts, context.view, before)
    const given = withoutReadOnly(context.body, shown)
    // Full state: what the body leaves out goes back to its default.
    const fields = { username: before.username, ...userDefaults, ...given }
    const lock = lockChange(before, shown, fields.locked)
    if (before.managed === 1) await replaceManaged(context, before, fields, lock)
    else await replaceData(context, before, fields, lock)
    return before
  }

  /** Writes without If-Match are applied one after the other; a write with a stale If-Match gets 412. */
  const replaceInTurn = async (context: ActionContext): Promise<UserRow> => {
    for (let round = 1; ; round += 1)
      try {
        return await replace(context)
      } catch (error) {
        if (!(error instanceof GuardFailedError) || round === rounds) throw error
      }
  }

  return {
    operationId: 'replace-user',
    method: 'PUT',
    events: ['ADMIN_UPDATE', 'USER_LOCKED', 'USER_UNLOCKED'],
    path: '/users/:userId',
    permission: 'manage-users',
    resourceType: 'users',
    summary: 'Replaces the full state of a user',
    body: bodyOf({ ...readOnlyUserFields, ...userFields }, ['username']),
    reply: { status: 200, schema: userSchema },
    handle: async (context) => {
      const { id } = await replaceInTurn(context)
      parts.addressNotice.wake()
      const after = await userIn(parts, { ...context, params: { userId: id } })
      context.reply.header('etag', userEtag(after))
      return showUser(parts, context.view, after)
    },
  }
}
