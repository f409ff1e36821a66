/** PUT …/users/{userId}/password: sets a password and ends the other sessions of the user. */

import { invalid } from '#schemas/problems.ts'
import { type Action, bodyOf, noContent } from '../action.ts'
import {
  endOtherSessions,
  settingsIn,
  type UserParts,
  userEvent,
  userToChange,
  wishForPassword,
} from './users.ts'

export const setUserPassword = (parts: UserParts): Action => ({
  operationId: 'set-user-password',
  method: 'PUT',
  events: ['ADMIN_UPDATE', 'RESET_PASSWORD'],
  path: '/users/:userId/password',
  permission: 'manage-users',
  resourceType: 'users',
  summary: 'Sets a password and ends the sessions of the user',
  body: bodyOf({ newPassword: { type: 'string', minLength: 1, maxLength: 1024 } }),
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    const settings = await settingsIn(context)
    const { statements, errors } = await parts.passwords.prepare(
      settings,
      user,
      String(context.body['newPassword']),
    )
    if (errors.length > 0) throw invalid(errors)
    await parts.recorder.commit(
      [
        ...statements,
        ...wishForPassword(parts, user, false),
        ...endOtherSessions(parts, context, user.id),
      ],
      [
        userEvent(context, 'ADMIN_UPDATE', user.id, 'password'),
        userEvent(context, 'RESET_PASSWORD', user.id),
      ],
    )
  },
})
