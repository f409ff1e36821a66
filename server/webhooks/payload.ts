/** The payload of a delivery: the audit event in an envelope, small enough for any receiver. */

import type { AuditRecord } from '#schemas/wire/events.ts'

/** Bytes; below the 20 kB that Standard Webhooks advises. */
const largest = 20_000
/** Characters of each free text in an event that would make the delivery too large. */
const shortened = 1_000

const short = (text: string): string =>
  text.length > shortened ? `${text.slice(0, shortened).toWellFormed()}…` : text

const shorter = (record: AuditRecord): AuditRecord => ({
  ...record,
  actor: short(record.actor),
  resourceId: record.resourceId === null ? null : short(record.resourceId),
  detail: record.detail === null ? null : short(record.detail),
})

/** The same bytes at every attempt. */
export const payloadOf = (id: string, data: AuditRecord): string => {
  const text = JSON.stringify({ id, type: data.type, timestamp: data.ts, realm: data.realm, data })
  return Buffer.byteLength(text) < largest ? text : payloadOf(id, shorter(data))
}
