/** Holds for users who have a second factor; `types` narrows which, separated by commas. */

import { factorTypes } from '#server/accounts/factors.ts'
import type { FactorParts } from '../factor-parts.ts'
import type { Condition } from '../step.ts'
import { listOf } from './settings.ts'

export const userHasFactor = ({ factors }: Pick<FactorParts, 'factors'>): Condition => ({
  id: 'condition-user-has-factor',
  holds: async ({ user, execution }) => {
    const types = listOf(execution.config['types'])
    return user !== undefined && factors.has(user.id, types.length > 0 ? types : factorTypes)
  },
})
