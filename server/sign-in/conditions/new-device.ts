/** Holds where the user has not signed in with this browser before. */

import type { Condition } from '../flow/step.ts'
import type { KnownDevices } from '../known-devices.ts'

export const newDevice = ({
  knownDevices,
}: {
  readonly knownDevices: KnownDevices
}): Condition => ({
  id: 'condition-new-device',
  holds: async ({ user, request }) => !user || !(await knownDevices.isKnown(request, user)),
})
