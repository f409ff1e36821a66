/** Holds where at least the level `acr` is asked for: what it guards is the step-up. */

import { isEnough, twoFactors } from '../flow/levels.ts'
import type { Condition } from '../flow/step.ts'

export const acr = (): Condition => ({
  id: 'condition-acr',
  holds: async ({ state, execution }) =>
    state.acr !== undefined && isEnough(state.acr, execution.config['acr'] ?? twoFactors),
})
