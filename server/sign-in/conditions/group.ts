/** Holds for members of any of `groups`, given as paths, and of groups below them. */

import { listOf } from '#schemas/drivers/authenticator-settings.ts'
import type { Storage } from '#server/storage/contract.ts'
import { rolesOfUser } from '#server/tokens/access/roles.ts'
import type { Condition } from '../flow/step.ts'

export const group = ({ storage }: { readonly storage: Pick<Storage, 'db'> }): Condition => ({
  id: 'condition-group',
  holds: async ({ user, view, execution }) => {
    if (!user) return false
    const { groups } = await rolesOfUser(storage, view, user.id)
    return listOf(execution.config['groups']).some((wanted) =>
      groups.some((path) => path === wanted || path.startsWith(`${wanted}/`)),
    )
  },
})
