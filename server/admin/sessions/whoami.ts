/** The identity and permissions of the caller, for `iamctl whoami`. */

import { adminAccesses } from '#schemas/access/admin-access.ts'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Whoami } from '#schemas/wire/records.ts'
import type { Storage } from '#server/storage/contract.ts'
import { userById } from '#server/users/user-rows.ts'
import { type Action, bodyOf } from '../action.ts'

export const whoami = ({ db }: Pick<Storage, 'db'>): Action => {
  const serviceAccount = (id: string) =>
    db
      .selectFrom('documents')
      .select(['id', 'key as username', 'realm'])
      .where('id', '=', id)
      .where('kind', '=', Client.kind)
      .executeTakeFirst()
  return {
    operationId: 'read-caller',
    method: 'GET',
    path: '/whoami',
    // Any permission is enough: the reply contains the caller's own data only.
    permission: 'per-kind',
    resourceType: 'whoami',
    summary: 'The caller, and the permissions of the caller in the realm',
    reply: {
      status: 200,
      schema: bodyOf({
        userId: { type: 'string', format: 'uuid' },
        username: { type: 'string', description: 'Of a service account its clientId.' },
        realm: { type: 'string', description: 'Their own; `master` administers all.' },
        permissions: { type: 'array', items: { type: 'string', enum: permissionKeys } },
        adminAccess: {
          type: 'string',
          enum: adminAccesses,
          description: 'With `plan` the credential reads, compares and dry-runs.',
        },
      }),
    },
    handle: async ({ caller: { actor, permissions, planOnly } }): Promise<Whoami> => {
      const who = (await userById({ db }, actor)) ?? (await serviceAccount(actor))
      if (!who) throw new Problem('unauthenticated', 'the user is gone')
      return {
        userId: who.id,
        username: who.username,
        realm: who.realm,
        permissions: permissionKeys.filter((key) => permissions.has(key)),
        adminAccess: planOnly ? 'plan' : 'full',
      }
    },
  }
}
