/** DELETE …/users/{userId}: deletes a user with sessions and memberships; a managed user as configuration. */

import { Problem } from '#schemas/problems.ts'
import { isSelf } from '#server/http/caller.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { type Action, noContent } from '../action.ts'
import { deleteManagedUser } from './managed-user.ts'
import { asksForMatch, refuseStale, type UserParts, userEvent, userToChange } from './users.ts'

export const deleteUser = (parts: UserParts): Action => ({
  operationId: 'delete-user',
  method: 'DELETE',
  path: '/users/:userId',
  permission: 'manage-users',
  resourceType: 'users',
  summary: 'Deletes a user with credentials, memberships and sessions',
  reply: noContent,
  handle: async (context) => {
    const user = await userToChange(parts, context)
    refuseStale(context, user)
    if (isSelf(context.caller, user.id)) throw new Problem('conflict', 'you cannot delete yourself')
    if (user.managed === 1) return deleteManagedUser(parts, context, user)
    const event = userEvent(context, 'ADMIN_DELETE', user.id)
    const deletion = await parts.lastAdmin.aroundData(
      context.view,
      [user],
      [
        ...parts.sessions.revokeAllOf(user.id),
        ...parts.users.deleteStatements(user.id, parts.clock.now()),
      ],
    )
    if (!asksForMatch(context)) return parts.recorder.commit(deletion, [event])
    try {
      return await parts.recorder.commit(
        [...parts.users.updateStatements(user, user), ...deletion],
        [event],
      )
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
      throw new Problem('precondition-failed', 'the user has changed since it was read')
    }
  },
})
