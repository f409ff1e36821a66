/** THE list of conditions. */

import type { FactorParts } from '../flow/factor-parts.ts'
import type { Condition } from '../flow/step.ts'
import { acr } from './acr.ts'
import { client } from './client.ts'
import { group } from './group.ts'
import { network } from './network.ts'
import { newDevice } from './new-device.ts'
import { role } from './role.ts'
import { negatable } from './settings.ts'
import { userHasFactor } from './user-has-factor.ts'

export const createConditions = (parts: FactorParts): Condition[] =>
  [
    userHasFactor(parts),
    role(parts),
    group(parts),
    client(),
    acr(),
    network(),
    newDevice(parts),
  ].map(negatable)
