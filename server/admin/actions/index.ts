/** THE list of actions: every route of the admin API that is written rather than declared. */

import type { Realms } from '#server/resources/realms.ts'
import type { Action } from '../action.ts'
import { listAdminRoles, listPermissions, setAdminRole } from './admin-roles.ts'
import { createUser } from './create-user.ts'
import { deleteUser } from './delete-user.ts'
import { listEvents } from './list-events.ts'
import { listUsers } from './list-users.ts'
import { readMetricsSummary, type SummaryParts } from './metrics-summary.ts'
import { readUser } from './read-user.ts'
import { createRealm, deleteRealm, listRealms, readRealm, readRealmDefaults } from './realms.ts'
import { replaceUser } from './replace-user.ts'
import { setUserPassword } from './set-user-password.ts'
import { assignUserRole, listUserRoles, unassignUserRole } from './user-roles.ts'
import type { UserParts } from './users.ts'

export interface ActionParts extends UserParts, SummaryParts {
  readonly realms: Realms
}

export const createActions = (parts: ActionParts): readonly Action[] => [
  listRealms(parts.realms),
  createRealm(parts.realms),
  readRealm(parts.realms),
  deleteRealm(parts.realms),
  readRealmDefaults(),
  listAdminRoles(),
  listPermissions(),
  setAdminRole(parts),
  listUsers(parts),
  createUser(parts),
  readUser(parts),
  replaceUser(parts),
  deleteUser(parts),
  listUserRoles(parts),
  assignUserRole(parts),
  unassignUserRole(parts),
  setUserPassword(parts),
  listEvents(parts.storage),
  readMetricsSummary(parts),
]
