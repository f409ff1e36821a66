/** Deletes abandoned requests in progress. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'

/** Longer than the longest pause of a client that was told to slow down; anybody can make requests of a public client. */
const lateMs = 10 * 60_000

/**
 * Tables, and how long their rows are kept after they have expired. A client that polls is to learn that its time ran out:
 * `expired_token` tells it to begin anew (RFC 8628 §3.5, CIBA Core §11), `invalid_grant` that it did something wrong.
 */
const kept = [
  ['pushed_requests', 0],
  ['logout_requests', 0],
  ['device_requests', lateMs],
  ['ciba_requests', lateMs],
  ['delegation_confirmations', 0],
] as const

/** Removes what has expired, of all realms. */
export const forgetRequests = ({ db }: Pick<Storage, 'db'>, now: number): Statement[] =>
  kept.map(([table, ms]) => statement(db.deleteFrom(table).where('expires_at', '<=', now - ms)))
