import { isDeepStrictEqual } from 'node:util'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import {
  changedUserRow,
  type UserFields,
  type UserRecord,
  userDefaults,
} from '#server/accounts/user-record.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables.ts'
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

export const replaceUser = (parts: UserParts): Action => {
  /** What goes along with a change of the flags, in the same transaction. */
  const consequences = (realm: string, before: UserRow, fields: UserFields): Statement[] => [
    ...(before.enabled === 1 && !fields.enabled ? parts.sessions.revokeAllOf(before.id) : []),
    ...(fields.locked ? [] : parts.bruteForce.unlockStatements(realm, before.id)),
  ]

  const replaceData = async (context: ActionContext, before: UserRow, fields: UserFields) => {
    const after = changedUserRow(before, fields, parts.clock.now())
    try {
      await parts.recorder.commit(
        [
          ...parts.users.updateStatements(before, after),
          ...consequences(context.realm, before, fields),
        ],
        [
          userEvent(context, 'ADMIN_UPDATE', before.id),
          ...(before.locked === 1 && !fields.locked
            ? [userEvent(context, 'USER_UNLOCKED', before.id)]
            : []),
        ],
      )
    } catch (error) {
      if (error instanceof GuardFailedError && context.request.headers['if-match'])
        throw new Problem('precondition-failed', 'the user has changed since it was read')
      throw await parts.users.explain(error, after)
    }
  }

  const replaceManaged = async (context: ActionContext, before: UserRow, fields: UserFields) => {
    const { locked, email, firstName, lastName, attributes, requiredActions, ...rest } = fields
    const { db } = parts.storage
    const flag = statement(
      db
        .updateTable('users')
        .set({ locked: locked ? 1 : 0 })
        .where('id', '=', before.id),
    )
    await changeManagedUser(
      parts,
      context,
      before,
      () => ({
        ...rest,
        attributes: attributes as Record<string, string[]>,
        requiredActions: [...requiredActions] as never,
        ...Object.fromEntries(
          Object.entries({ email, firstName, lastName }).map(([name, value]) => [
            name,
            value ?? undefined,
          ]),
        ),
      }),
      [flag, ...consequences(context.realm, before, fields)],
    )
  }

  return {
    operationId: 'replace-user',
    method: 'PUT',
    path: '/users/:userId',
    permission: 'manage-users',
    resourceType: 'users',
    summary: 'Replaces the full state of a user',
    body: bodyOf({ ...readOnlyUserFields, ...userFields }, ['username']),
    reply: { status: 200, schema: userSchema },
    handle: async (context) => {
      const before = await userToChange(parts, context)
      refuseStale(context, before)
      const shown = await showUser(parts, context.view, before)
      const given = withoutReadOnly(context.body, shown)
      // Full state: what the body leaves out goes back to its default.
      const fields = { username: before.username, ...userDefaults, ...given }
      if (before.managed === 1) await replaceManaged(context, before, fields)
      else await replaceData(context, before, fields)
      const after = await userIn(parts, { ...context, params: { userId: before.id } })
      context.reply.header('etag', userEtag(after))
      return showUser(parts, context.view, after)
    },
  }
}
