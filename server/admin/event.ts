/** The audit event of a successful action: actor, action and resource. */

import type { EventType } from '#schemas/wire/event-types.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { doneBy } from '#server/http/caller.ts'
import type { ActionContext } from './action.ts'

export const actionEvent = (
  { realm, caller }: Pick<ActionContext, 'realm' | 'caller'>,
  type: EventType,
  resource: { readonly type: string; readonly id: string },
  detail?: string,
): AuditEvent => ({
  type,
  realm,
  ...doneBy(caller),
  outcome: 'SUCCESS',
  resourceType: resource.type,
  resourceId: resource.id,
  ...(detail === undefined ? {} : { detail }),
})
