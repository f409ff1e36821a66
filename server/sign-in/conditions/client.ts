/** Holds for a sign-in to any of `clients`. */

import { listOf } from '#schemas/drivers/authenticator-settings.ts'
import type { Condition } from '../flow/step.ts'

export const client = (): Condition => ({
  id: 'condition-client',
  holds: async ({ state, execution }) =>
    state.clientId !== undefined && listOf(execution.config['clients']).includes(state.clientId),
})
