/** The user of a self-service request, its origin, and its audit events. */

import type { EventType } from '#schemas/wire/event-types.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Account } from '#server/oidc/account-caller.ts'
import { doerOf } from '#server/sessions/doer.ts'
import type { Issuer } from '#server/tokens/issuers.ts'

export interface Self extends Account {
  readonly issuer: Issuer
  readonly address: string
}

/** An administrator who acts as the user is named as the one who did it. */
export const selfEvent = (
  { issuer, user, session, address }: Self,
  type: EventType,
  detail?: string,
): AuditEvent => ({
  type,
  realm: issuer.name,
  ...doerOf(user.id, session),
  sourceIp: address,
  outcome: 'SUCCESS',
  resourceType: 'users',
  resourceId: user.id,
  ...(detail === undefined ? {} : { detail }),
})
