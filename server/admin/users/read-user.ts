/** GET …/users/{userId}: one user, with the ETag that writes are compared with (RFC 9110 §8.8.3). */

import type { Action } from '../action.ts'
import { showUser, type UserParts, userEtag, userIn, userSchema } from './users.ts'

export const readUser = (parts: UserParts): Action => ({
  operationId: 'read-user',
  method: 'GET',
  path: '/users/:userId',
  permission: 'view-users',
  resourceType: 'users',
  summary: 'One user, by id or username',
  reply: { status: 200, schema: userSchema },
  handle: async (context) => {
    const user = await userIn(parts, context)
    context.reply.header('etag', userEtag(user))
    return showUser(parts, context.view, user)
  },
})
