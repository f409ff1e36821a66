/** The required actions of a user at the next sign-in: read and replace. */

import { requiredActions } from '#schemas/kinds/users/user.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import { type Action, asChecked, noContent } from '../action.ts'
import { changeManagedUser } from './managed-user.ts'
import { type UserParts, userEvent, userIn, userToChange } from './users.ts'

const list = {
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', enum: requiredActions },
} as const

const path = '/users/:userId/required-actions'

export const requiredActionActions = (parts: UserParts): Action[] => {
  const replace = (method: 'PUT' | 'POST'): Action => ({
    operationId: `${method === 'PUT' ? 'replace' : 'set'}-required-actions`,
    method,
    events: ['ADMIN_UPDATE'],
    path,
    permission: 'manage-users',
    resourceType: 'users',
    summary: 'Replaces what the user must do at the next sign-in',
    body: list,
    reply: noContent,
    handle: async (context) => {
      const user = await userToChange(parts, context)
      const wanted = asChecked<(typeof requiredActions)[number][]>(context.body)
      if (user.managed === 1)
        return changeManagedUser(parts, context, user, () => ({ requiredActions: wanted }))
      const after = changedUserRow(user, { requiredActions: wanted }, parts.clock.now())
      return parts.recorder.commit(parts.users.updateStatements(user, after), [
        userEvent(context, 'ADMIN_UPDATE', user.id, '/requiredActions'),
      ])
    },
  })

  return [
    {
      operationId: 'list-required-actions',
      method: 'GET',
      path,
      permission: 'view-users',
      resourceType: 'users',
      summary: 'The required actions of the user at the next sign-in',
      reply: { status: 200, schema: list },
      handle: async (context) =>
        JSON.parse((await userIn(parts, context)).required_actions) as string[],
    },
    replace('PUT'),
    replace('POST'),
  ]
}
