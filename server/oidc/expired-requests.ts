/** Abandoned requests in progress. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'

const tables = [
  'pushed_requests',
  'logout_requests',
  'device_requests',
  'ciba_requests',
  'delegation_confirmations',
] as const

/** Removes what has expired, of all realms. */
export const forgetRequests = ({ db }: Pick<Storage, 'db'>, now: number): Statement[] =>
  tables.map((table) => statement(db.deleteFrom(table).where('expires_at', '<=', now)))
