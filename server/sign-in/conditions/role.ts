/** Holds for users who have any of `roles`, also by a group or a composite; a client's role is written `client/role`. */

import { listOf } from '#schemas/drivers/authenticator-settings.ts'
import type { Storage } from '#server/storage/contract.ts'
import { rolesOfUser } from '#server/tokens/access/roles.ts'
import type { Condition } from '../flow/step.ts'

export const role = ({ storage }: { readonly storage: Pick<Storage, 'db'> }): Condition => ({
  id: 'condition-role',
  holds: async ({ user, view, execution }) => {
    if (!user) return false
    const { realm, clients } = await rolesOfUser(storage, view, user.id)
    const held = new Set([
      ...realm,
      ...[...clients].flatMap(([client, roles]) => roles.map((name) => `${client}/${name}`)),
    ])
    return listOf(execution.config['roles']).some((name) => held.has(name))
  },
})
