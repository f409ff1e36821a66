/**
 * The statements about jobs. A claim is one statement, so that of any number of nodes one gets a job; whatever is
 * written about a job afterwards is guarded by the lease of that claim, so that a node with an expired lease changes nothing.
 */

import { type RawBuilder, type Selectable, sql } from 'kysely'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { inSlices, statement } from '#server/storage/statements.ts'
import type { JobRow } from '#server/storage/tables/job-tables.ts'
import type { NewJob } from './job.ts'

/** A claimed job, as its row is. */
export interface Claimed extends Omit<JobRow, 'id'> {
  readonly id: number
  readonly lease: string
}

/** Which jobs of a queue may be taken. */
export interface Lanes {
  readonly queue: string
  readonly ordered: boolean
  /** Of a target that is not in `room`. */
  readonly perTarget: number
  /** How many more may run of targets that have some running. */
  readonly room: ReadonlyMap<string, number>
  /** How many more may be taken of realms that have some running; '' has the jobs of no realm. */
  readonly shares: ReadonlyMap<string, number>
  /** Of a realm that is not in `shares`. */
  readonly share: number
}

type Change = Partial<
  Pick<JobRow, 'state' | 'attempts' | 'next_at' | 'created_at' | 'finished_at' | 'result'>
>

export interface QueueFigures {
  readonly queue: string
  readonly waiting: number
  /** When the oldest that waits was made. */
  readonly oldest: number
}

/** A claim looks no further: what is beyond has its turn at the next one. */
const window = 256
const insertSize = 100
const removeSize = 1000

export const createJobStore = ({ db, dialect }: Pick<Storage, 'db' | 'dialect'>) => {
  const skipLocked = dialect.skipsLocked ? sql`for update skip locked` : sql``

  const realm = sql`coalesce(realm, '')`

  const without = (column: RawBuilder<unknown>, room: ReadonlyMap<string, number>) => {
    const full = [...room].filter(([, free]) => free <= 0).map(([name]) => name)
    return full.length > 0 ? sql`and ${column} not in (${sql.join(full)})` : sql``
  }

  /** The entry of the column in `room`, else `usual`. */
  const roomOf = (
    column: RawBuilder<unknown>,
    room: ReadonlyMap<string, number>,
    usual: number,
  ): RawBuilder<unknown> => {
    const partly = [...room].filter(([, free]) => free > 0)
    if (partly.length === 0) return sql.lit(usual)
    const cases = partly.map(([name, free]) => sql`when ${name} then ${sql.lit(free)}`)
    return sql`case ${column} ${sql.join(cases, sql` `)} else ${sql.lit(usual)} end`
  }

  /** With literals where the text must be that of an index. */
  const eligible = ({ queue, ordered, room, shares }: Lanes) => {
    const notFull = sql`${without(sql`target`, room)} ${without(realm, shares)}`
    const oldest = ordered
      ? sql`and not exists (select 1 from jobs as older where older.queue = jobs.queue
          and older.target = jobs.target and older.id < jobs.id and older.state = 'waiting')`
      : sql``
    return sql`queue = ${queue} and state = 'waiting' ${notFull} ${oldest}`
  }

  return {
    /** Into the transaction of whatever causes them. */
    enqueue: (queue: string, jobs: readonly NewJob[], now: number): Statement[] => {
      const rows = jobs.map(({ realm = null, target = '', key = null, payload, at = now }) => ({
        job_id: newId(),
        queue,
        realm,
        target,
        idempotency_key: key,
        payload: JSON.stringify(payload),
        state: 'waiting' as const,
        attempts: 0,
        next_at: at,
        created_at: now,
      }))
      return inSlices(rows, insertSize).map((part) =>
        statement(
          db
            .insertInto('jobs')
            .values(part)
            .onConflict((conflict) => conflict.doNothing()),
        ),
      )
    },

    /**
     * Asks for a run of a lane: a job that waits and has not begun becomes due, and otherwise there is a new one. One that waits
     * after a failure keeps its time, unless the reason of the failure may be gone.
     */
    ask: (
      queue: string,
      { realm = null, target = '', payload }: NewJob,
      now: number,
      { mended }: { readonly mended: boolean },
    ): Statement[] => {
      const waiting = db
        .updateTable('jobs')
        .set({ next_at: now, attempts: 0 })
        .where('queue', '=', queue)
        .where('target', '=', target)
        .where('state', '=', 'waiting')
        .where('lease', 'is', null)
        .where('next_at', '>', now)
      const at = sql`cast(${now} as bigint)`
      const made = sql`
        insert into jobs (job_id, queue, realm, target, payload, state, attempts, next_at, created_at)
        select cast(${newId()} as text), cast(${queue} as text), cast(${realm} as text),
          cast(${target} as text), cast(${JSON.stringify(payload)} as text), 'waiting', 0, ${at}, ${at}
        where not exists (select 1 from jobs as other where other.queue = ${queue}
          and other.target = ${target} and other.state = 'waiting' and other.lease is null)`
      return [
        statement(mended ? waiting : waiting.where('attempts', '=', 0)),
        statement({ compile: () => made.compile(db) }),
      ]
    },

    /** When the next job may be taken; undefined where there is none. */
    nextAt: async (lanes: Lanes): Promise<number | undefined> => {
      const { rows } = await sql<{ at: number | null }>`
        select next_at as at from jobs where ${eligible(lanes)} order by next_at limit 1`.execute(
        db,
      )
      return rows[0]?.at ?? undefined
    },

    claim: (lanes: Lanes, most: number, now: number, until: number): Statement => {
      const room = roomOf(sql`target`, lanes.room, lanes.perTarget)
      const share = roomOf(sql`realm`, lanes.shares, lanes.share)
      const query = sql`
        with due as materialized (
          select id, target, ${realm} as realm from jobs
          where ${eligible(lanes)} and next_at <= ${now}
          order by next_at, id limit ${sql.lit(window)} ${skipLocked}),
        placed as (
          select id, realm, target, row_number() over (partition by target order by id) as place
          from due),
        shared as (
          select id, realm, row_number() over (partition by realm order by place, id) as turn
          from placed where place <= ${room}),
        chosen as materialized (
          select id from shared where turn <= ${share} order by turn, id limit ${most})
        update jobs set lease = ${newId()}, next_at = ${until}, attempts = attempts + 1
        where id in (select id from chosen) returning *`
      return statement({ compile: () => query.compile(db) })
    },

    /** Gives the job back, changed; nothing where the lease is lost. */
    settle: ({ id, lease }: Claimed, change: Change): Statement =>
      statement(
        db
          .updateTable('jobs')
          .set({ ...change, lease: null })
          .where('id', '=', id)
          .where('lease', '=', lease),
      ),

    remove: ({ id, lease }: Claimed): Statement =>
      statement(db.deleteFrom('jobs').where('id', '=', id).where('lease', '=', lease)),

    extend: ({ id, lease }: Claimed, until: number): Statement =>
      statement(
        db
          .updateTable('jobs')
          .set({ next_at: until })
          .where('id', '=', id)
          .where('lease', '=', lease),
      ),

    /** Releases all leases at once. */
    free: (now: number): Statement =>
      statement(
        db.updateTable('jobs').set({ lease: null, next_at: now }).where('lease', 'is not', null),
      ),

    /** Removes a part of what was finished before a time. */
    forget: (queue: string, state: 'done' | 'dead', before: number): Statement => {
      const old = sql`select id from jobs where queue = ${queue} and finished_at < ${before}
        and state = ${state} order by finished_at limit ${sql.lit(removeSize)}`
      const query = sql`delete from jobs where id in (${old})`
      return statement({ compile: () => query.compile(db) })
    },

    figures: async (): Promise<QueueFigures[]> => {
      const { rows } = await sql<QueueFigures>`
        select queue, count(*) as waiting, min(created_at) as oldest from jobs
        where state = 'waiting' group by queue`.execute(db)
      return rows.map(({ queue, waiting, oldest }) => ({ queue, waiting: Number(waiting), oldest }))
    },
  }
}

export type JobStore = ReturnType<typeof createJobStore>

/** Jobs made of rows that only the transaction itself sees, one of each; `key` names the job and comes once. */
export const enqueueSelected = (
  db: Storage['db'],
  queue: string,
  now: number,
  {
    key,
    realm,
    target,
    payload,
    from,
  }: Readonly<Record<'key' | 'realm' | 'target' | 'payload' | 'from', RawBuilder<unknown>>>,
): Statement => {
  const at = sql`cast(${now} as bigint)`
  const query = sql`
    insert into jobs (job_id, queue, realm, target, idempotency_key, payload,
      state, attempts, next_at, created_at)
    select ${key}, cast(${queue} as text), ${realm}, ${target}, ${key}, ${payload},
      'waiting', 0, ${at}, ${at} from ${from}
    on conflict do nothing`
  return statement({ compile: () => query.compile(db) })
}

/** A condition: the job of this key has still to be done. */
export const isKeyWaiting = (queue: string, key: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`exists (select 1 from jobs where jobs.queue = ${queue}
    and jobs.idempotency_key = ${key} and jobs.state = 'waiting')`

/** Whether a job waits that has not started. */
export const isJobWaiting = async (
  { db }: Pick<Storage, 'db'>,
  queue: string,
): Promise<boolean> => {
  const row = await db
    .selectFrom('jobs')
    .select('id')
    .where('queue', '=', queue)
    .where('state', '=', 'waiting')
    .where('lease', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether a job that waits has failed so often; an attempt under way does not count. */
export const isQueueFailing = async (
  { db }: Pick<Storage, 'db'>,
  queue: string,
  failures: number,
): Promise<boolean> => {
  const row = await db
    .selectFrom('jobs')
    .select('id')
    .where('queue', '=', queue)
    .where('state', '=', 'waiting')
    .where((eb) =>
      eb.or([
        eb('attempts', '>', failures),
        eb.and([eb('attempts', '=', failures), eb('lease', 'is', null)]),
      ]),
    )
    .executeTakeFirst()
  return row !== undefined
}

export interface JobPage {
  readonly state?: JobRow['state'] | undefined
  readonly first: number
  readonly max: number
}

/** Newest first. */
export const listJobs = (
  { db }: Pick<Storage, 'db'>,
  { queue, target }: { readonly queue: string; readonly target: string },
  { state, first, max }: JobPage,
): Promise<Selectable<JobRow>[]> => {
  const all = db
    .selectFrom('jobs')
    .selectAll()
    .where('queue', '=', queue)
    .where('target', '=', target)
  return (state === undefined ? all : all.where('state', '=', state))
    .orderBy('id', 'desc')
    .offset(first)
    .limit(max)
    .execute()
}

export interface NamedJob {
  readonly queue: string
  readonly target: string
  readonly jobId: string
}

export const findJob = (
  { db }: Pick<Storage, 'db'>,
  { queue, target, jobId }: NamedJob,
): Promise<Selectable<JobRow> | undefined> =>
  db
    .selectFrom('jobs')
    .selectAll()
    .where('queue', '=', queue)
    .where('target', '=', target)
    .where('job_id', '=', jobId)
    .executeTakeFirst()

/** Current leases on them are lost. */
export const deleteJobsFor = (
  { db }: Pick<Storage, 'db'>,
  queue: string,
  targets: readonly string[],
): Statement =>
  statement(db.deleteFrom('jobs').where('queue', '=', queue).where('target', 'in', targets))

/** Due at once and with no attempt counted; a job that is under way is left alone. */
export const restartJob = (
  { db }: Pick<Storage, 'db'>,
  {
    queue,
    target,
    jobId,
  }: { readonly queue: string; readonly target: string; readonly jobId: string },
  now: number,
): Statement =>
  statement(
    db
      .updateTable('jobs')
      .set({ state: 'waiting', attempts: 0, next_at: now, finished_at: null })
      .where('queue', '=', queue)
      .where('target', '=', target)
      .where('job_id', '=', jobId)
      .where('lease', 'is', null),
  )

/** More can be removed when a removal has taken as many. */
export const isWholePart = (removed: number): boolean => removed >= removeSize
