/** Who the caller is and may do: for those who wonder why they are refused, and for `iamctl whoami`. */

import { permissionKeys } from '#schemas/permissions.ts'
import { Problem } from '#schemas/problems.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, bodyOf } from '../action.ts'

export const whoami = ({ db }: Pick<Storage, 'db'>): Action => ({
  operationId: 'read-caller',
  method: 'GET',
  path: '/whoami',
  // Whoever holds any permission at all; there is nothing here that is not theirs.
  permission: 'per-kind',
  resourceType: 'whoami',
  summary: 'Who the caller is, and which permissions they hold in the realm',
  reply: {
    status: 200,
    schema: bodyOf({
      userId: { type: 'string', format: 'uuid' },
      username: { type: 'string' },
      realm: { type: 'string', description: 'Of the user; `master` administers all.' },
      permissions: { type: 'array', items: { type: 'string', enum: permissionKeys } },
    }),
  },
  handle: async ({ caller: { actor, permissions } }) => {
    const user = await db
      .selectFrom('users')
      .select(['id', 'username', 'realm'])
      .where('id', '=', actor)
      .executeTakeFirst()
    if (!user) throw new Problem('unauthenticated', 'the user is gone')
    return {
      userId: user.id,
      username: user.username,
      realm: user.realm,
      permissions: permissionKeys.filter((key) => permissions.has(key)),
    }
  },
})
