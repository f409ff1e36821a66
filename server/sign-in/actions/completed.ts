/**
 * The completion of a required action: it is removed from the list of the user. For a managed user only the table
 * changes: the file asks for an action once, whenever it changes.
 */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import type { StepContext } from '../flow/step.ts'

type Change = Parameters<typeof changedUserRow>[1]

/** Whatever else the action changes about the user goes into the same row. */
export const completed = (
  { users, clock }: { readonly users: Users; readonly clock: Clock },
  user: UserRow,
  id: string,
  change: Change = {},
): Statement[] => {
  const listed: string[] = JSON.parse(user.required_actions)
  const left = listed.filter((one) => one !== id)
  if (left.length === listed.length && Object.keys(change).length === 0) return []
  const after = changedUserRow(user, { ...change, requiredActions: left }, clock.now())
  return users.updateStatements(user, after)
}

/** What the user did, by themselves. */
export const ownEvent = (
  { realm, address }: Pick<StepContext, 'realm' | 'address'>,
  user: UserRow,
  type: AuditEvent['type'],
  detail: string,
): AuditEvent => ({
  type,
  realm,
  actor: user.id,
  sourceIp: address,
  outcome: 'SUCCESS',
  resourceType: 'users',
  resourceId: user.id,
  detail,
})
