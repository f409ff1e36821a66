/** The jobs of one target that wait for their turn: none of them is under way. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'

export interface LaneName {
  readonly queue: string
  readonly target: string
}

/** The payloads of those jobs. */
export const waitingPayloads = async (
  { db }: Pick<Storage, 'db'>,
  { queue, target }: LaneName,
): Promise<unknown[]> => {
  const rows = await db
    .selectFrom('jobs')
    .select('payload')
    .where('queue', '=', queue)
    .where('target', '=', target)
    .where('state', '=', 'waiting')
    .where('lease', 'is', null)
    .execute()
  return rows.map(({ payload }) => JSON.parse(payload))
}

/** Those that failed are due at once, and with no attempt counted: what made them fail has changed. */
export const restartFailed = (
  { db }: Pick<Storage, 'db'>,
  { queue, target }: LaneName,
  now: number,
): Statement =>
  statement(
    db
      .updateTable('jobs')
      .set({ attempts: 0, next_at: now })
      .where('queue', '=', queue)
      .where('target', '=', target)
      .where('state', '=', 'waiting')
      .where('lease', 'is', null)
      .where('attempts', '>', 0),
  )
