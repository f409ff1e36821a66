/** An audit event about a sign-in in a browser. */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Visitor } from './questions.ts'

export const visitorEvent = (
  { realm, request }: Visitor,
  type: AuditEvent['type'],
  outcome: AuditEvent['outcome'],
  actor: string,
  detail?: string,
): AuditEvent => ({
  type,
  realm,
  actor,
  sourceIp: request.ip,
  outcome,
  ...(detail === undefined ? {} : { detail }),
})
