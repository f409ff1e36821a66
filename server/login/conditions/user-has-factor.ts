/**
 * Holds for users who have a second factor; `types` narrows which, separated by commas. A device that the realm cannot send a
 * question to is none: its user would be asked for what cannot be given.
 */

import { deviceType } from '#server/accounts/devices.ts'
import { factorTypes } from '#server/accounts/factors.ts'
import { reachableDevices } from '#server/accounts/reachable-devices.ts'
import { templateKey as pushTemplate } from '../authenticators/push.ts'
import type { FactorParts } from '../factor-parts.ts'
import type { Condition } from '../step.ts'
import { listOf } from './settings.ts'

type Parts = Pick<FactorParts, 'factors' | 'devices' | 'messaging'>

export const userHasFactor = (parts: Parts): Condition => ({
  id: 'condition-user-has-factor',
  holds: async ({ user, view, execution }) => {
    if (!user) return false
    const given = listOf(execution.config['types'])
    const types = given.length > 0 ? given : factorTypes
    const others = types.filter((type) => type !== deviceType)
    if (await parts.factors.has(user.id, others)) return true
    return (
      types.includes(deviceType) &&
      (await reachableDevices(parts, view, user, pushTemplate)).length > 0
    )
  },
})
