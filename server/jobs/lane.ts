/** The jobs of one target in a queue: those that wait and are not under way, and those that are done. */

import { type RawBuilder, sql } from 'kysely'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'

export interface LaneName {
  readonly queue: string
  readonly target: string
}

type Db = Pick<Storage, 'db'>

const isOf = ({ queue, target }: LaneName): RawBuilder<boolean> =>
  sql<boolean>`queue = ${queue} and target = ${target}`

const isWaiting = sql<boolean>`state = 'waiting' and lease is null`

/** The payloads of the jobs that wait. */
export const waitingPayloads = async ({ db }: Db, lane: LaneName): Promise<unknown[]> => {
  const waiting = db.selectFrom('jobs').select('payload').where(isOf(lane)).where(isWaiting)
  return (await waiting.execute()).map(({ payload }) => JSON.parse(payload))
}

/** Jobs that wait after a failure are due at once, and with no attempt counted: what made them fail has changed. */
export const restartFailed = ({ db }: Db, lane: LaneName, now: number): Statement =>
  statement(
    db
      .updateTable('jobs')
      .set({ attempts: 0, next_at: now })
      .where(isOf(lane))
      .where(isWaiting)
      .where('attempts', '>', 0),
  )

/** When the first job that has failed is tried again; undefined where none has. */
export const nextAttemptAt = async ({ db }: Db, lane: LaneName): Promise<number | undefined> => {
  const failed = db
    .selectFrom('jobs')
    .select('next_at')
    .where(isOf(lane))
    .where(isWaiting)
    .where('attempts', '>', 0)
  return (await failed.orderBy('id').executeTakeFirst())?.next_at
}

/** Whether a job was done at this time or later, and is still listed. */
export const isDoneSince = async ({ db }: Db, lane: LaneName, since: number): Promise<boolean> => {
  const done = db
    .selectFrom('jobs')
    .select('id')
    .where(isOf(lane))
    .where('state', '=', 'done')
    .where('finished_at', '>=', since)
  return (await done.limit(1).executeTakeFirst()) !== undefined
}
