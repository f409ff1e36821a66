/** GET …/users: pages of users by username, with the total and a link to the next page (RFC 8288). */

import { type Action, asChecked, bodyOf } from '../action.ts'
import { showUsers, type UserParts, userSchema } from './users.ts'

export const listUsers = (parts: UserParts): Action => ({
  operationId: 'list-users',
  method: 'GET',
  path: '/users',
  permission: 'view-users',
  resourceType: 'users',
  summary: 'Users by username; `search` is the beginning of a username or email address',
  query: bodyOf(
    {
      search: { type: 'string', maxLength: 320 },
      first: { type: 'integer', minimum: 0, default: 0 },
      max: { type: 'integer', minimum: 0, maximum: 1000, default: 100 },
    },
    [],
  ),
  reply: { status: 200, schema: { type: 'array', items: userSchema } },
  handle: async ({ realm, view, query, request, reply }) => {
    const { search, first, max } = asChecked<{ search?: string; first: number; max: number }>(query)
    const { users, total } = await parts.users.list(realm, { search, first, max })
    reply.header('x-total-count', total)
    if (max > 0 && first + users.length < total) {
      const next = new URLSearchParams({
        ...(search === undefined ? {} : { search }),
        first: String(first + max),
        max: String(max),
      })
      reply.header('link', `<${request.url.split('?')[0]}?${next}>; rel="next"`)
    }
    return showUsers(parts, view, users)
  },
})
