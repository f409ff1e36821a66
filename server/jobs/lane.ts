/** The jobs of one target: those that wait and are not under way, and those that are done. */

import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'

export interface LaneName {
  readonly queue: string
  readonly target: string
}

/** The payloads of the jobs that wait. */
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

/** Jobs that wait after a failure are due at once, and with no attempt counted: what made them fail has changed. */
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

/** Whether one was done at this time or later, and is still listed. */
export const isDoneSince = async (
  { db }: Pick<Storage, 'db'>,
  { queue, target }: LaneName,
  since: number,
): Promise<boolean> => {
  const row = await db
    .selectFrom('jobs')
    .select('id')
    .where('queue', '=', queue)
    .where('target', '=', target)
    .where('state', '=', 'done')
    .where('finished_at', '>=', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
