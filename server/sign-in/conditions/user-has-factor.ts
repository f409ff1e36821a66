/**
 * Holds for users who have a second factor; `types` narrows which, separated by commas. Every enrolled factor counts, also a
 * device that no message reaches now: otherwise an administrator who removes the push provider would remove the second
 * factor of its users. See docs/decisions/unreachable-factors.md.
 */

import { listOf } from '#schemas/drivers/authenticator-settings.ts'
import { type Factors, factorTypes } from '#server/credentials/factors/factors.ts'
import type { Condition } from '../flow/step.ts'

export const userHasFactor = ({ factors }: { readonly factors: Factors }): Condition => ({
  id: 'condition-user-has-factor',
  holds: async ({ user, execution }) => {
    const types = listOf(execution.config['types'])
    return user !== undefined && factors.has(user.id, types.length > 0 ? types : factorTypes)
  },
})
