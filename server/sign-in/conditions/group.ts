/** Holds for members of any of `groups`, given as paths, and of groups below them. */

import { rolesOfUser } from '#server/tokens/roles.ts'
import type { FactorParts } from '../flow/factor-parts.ts'
import type { Condition } from '../flow/step.ts'
import { listOf } from './settings.ts'

export const group = ({ storage }: Pick<FactorParts, 'storage'>): Condition => ({
  id: 'condition-group',
  holds: async ({ user, view, execution }) => {
    if (!user) return false
    const { groups } = await rolesOfUser(storage, view, user.id)
    return listOf(execution.config['groups']).some((wanted) =>
      groups.some((path) => path === wanted || path.startsWith(`${wanted}/`)),
    )
  },
})
