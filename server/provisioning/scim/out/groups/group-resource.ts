/** A group as a SCIM resource (RFC 7643 §4.2). */

import type { RemoteResource } from '../protocol/client.ts'

export const coreGroup = 'urn:ietf:params:scim:schemas:core:2.0:Group'

export const memberIdsOf = (group: RemoteResource): string[] => {
  const members = group['members']
  return Array.isArray(members) ? members.map(({ value }) => String(value)) : []
}
