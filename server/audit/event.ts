/** The recorded fields of an event. */

import type { EventType } from '#schemas/wire/event-types.ts'

export interface AuditEvent {
  readonly type: EventType
  readonly realm: string
  /** The id of a known user or client, else the name that was tried. */
  readonly actor: string
  /** The user whom the actor, an administrator, impersonated, or an agent acted for. */
  readonly onBehalfOf?: string
  readonly sourceIp: string
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly resourceType?: string
  readonly resourceId?: string
  /** Names no person. */
  readonly detail?: string
  /** Names or addresses of the user who is the resource, else of the actor: part of the detail until erasure. */
  readonly personal?: string
  /** The revision that the write made, of a configuration write. */
  readonly revision?: number
}
