/** THE list of kinds that bring code along. */

import type { Behaviours } from '../behaviour.ts'
import { client } from './client.ts'
import { flow } from './flow.ts'
import { group } from './group.ts'
import { role } from './role.ts'
import { settings } from './settings.ts'
import { type UserBehaviourParts, user } from './user.ts'

export const createBehaviours = (parts: UserBehaviourParts): Behaviours =>
  new Map(Object.entries({ settings, role, group, client, flow, user: user(parts) }))
