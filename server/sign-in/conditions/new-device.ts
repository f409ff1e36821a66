/** Holds where the user has not signed in with this browser before. */

import type { FactorParts } from '../flow/factor-parts.ts'
import type { Condition } from '../flow/step.ts'

export const newDevice = ({ knownDevices }: Pick<FactorParts, 'knownDevices'>): Condition => ({
  id: 'condition-new-device',
  holds: async ({ user, request }) => !user || !(await knownDevices.isKnown(request, user)),
})
