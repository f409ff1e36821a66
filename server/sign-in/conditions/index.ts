/** THE list of conditions. */

import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Condition } from '../flow/step.ts'
import type { KnownDevices } from '../known-devices.ts'
import type { Administrators } from '../messages/administrators.ts'
import { acr } from './acr.ts'
import { client } from './client.ts'
import { group } from './group.ts'
import { network } from './network.ts'
import { newDevice } from './new-device.ts'
import { oneFactor } from './one-factor.ts'
import { role } from './role.ts'
import { negatable } from './settings.ts'
import { userHasFactor } from './user-has-factor.ts'

export interface ConditionNeeds {
  readonly storage: Pick<Storage, 'db'>
  readonly factors: Factors
  readonly knownDevices: KnownDevices
  readonly administrators: Pick<Administrators, 'needsMore'>
}

export const createConditions = ({
  storage,
  factors,
  knownDevices,
  administrators,
}: ConditionNeeds): Condition[] =>
  [
    userHasFactor({ factors }),
    role({ storage }),
    group({ storage }),
    client(),
    acr(),
    network(),
    newDevice({ knownDevices }),
    oneFactor({ administrators }),
  ].map(negatable)
