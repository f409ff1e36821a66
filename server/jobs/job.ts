/**
 * Deferred work that survives crashes. A job is a row in the database, written in the transaction that causes it. Any node
 * takes it for a limited time (a lease) and records the outcome. When a node dies, its lease expires and another node
 * starts the job again, so a handler must be safe to run twice: what it sends carries the id of the job, which stays the
 * same.
 */

export interface NewJob {
  /** None where it is the whole server's. A realm that is deleted takes its jobs with it. */
  readonly realm?: string | null
  /** The lane: see `JobHandler.perTarget` and `ordered`. */
  readonly target?: string
  /** Of the jobs with the same key in a queue the first is kept, for as long as its row is. */
  readonly key?: string
  /** Stored as JSON; secrets in it must be sealed, and listed in `sealed-columns.ts`. */
  readonly payload: unknown
  /** Not before that time; at once where it is not given. */
  readonly at?: number
}

export interface Job<P = unknown> {
  /** The same at every attempt. */
  readonly id: string
  readonly realm: string | null
  readonly target: string
  readonly payload: P
  /** 1 at the first attempt. */
  readonly attempt: number
  readonly createdAt: number
}

/** What a list of jobs shows of an attempt; never a secret. */
export type JobResult = Readonly<Record<string, string | number | boolean | null>>

export type Outcome =
  | { readonly kind: 'done'; readonly result?: JobResult }
  /** Tried again after `waits`, or after `afterMs`; dead when the last wait is over. */
  | {
      readonly kind: 'retry'
      readonly reason: string
      readonly afterMs?: number
      readonly result?: JobResult
    }
  /** A failure that another attempt would repeat. */
  | { readonly kind: 'dead'; readonly reason: string; readonly result?: JobResult }
  /** Work that recurs: the same job again, as if new. */
  | { readonly kind: 'again'; readonly afterMs: number }

export interface JobHandler<P = unknown> {
  readonly queue: string
  /** How many jobs of one target this node runs at the same time, where places are left; one after a failure, until one succeeds. */
  readonly perTarget: number
  /** How many jobs of the queue this node runs at the same time; half of them are of one realm at most. */
  readonly atOnce?: number
  /** Only the oldest unfinished job of a target runs, on whatever node. */
  readonly ordered?: boolean
  /** How long after the death of a node its jobs are taken over. Longer work is fine: leases are extended. */
  readonly leaseMs: number
  /** After the first failure, the second, and so on; past the last the job is dead. */
  readonly waits: readonly number[]
  /** The share of a wait that chance may add to it. */
  readonly jitter?: number
  /** How long a done job stays in lists; removed at once where it is not given. Dead ones stay for 30 days. */
  readonly keepMs?: number
  /** Its jobs are made by statements that do not tell the other nodes, which therefore look more often. */
  readonly untold?: true
  /** There is one job, from the first start on, this long after it; the handler answers `again`. */
  readonly firstAfterMs?: number
  /** Aborted when the server stops or the lease is lost. An error counts as `retry`. */
  run(job: Job<P>, signal: AbortSignal): Promise<Outcome>
  /** The last wait is over: before the job becomes dead, possibly more than once. */
  dead?(job: Job<P>, reason: string): Promise<void>
}

/** The outcome of an attempt, as metrics count it. */
export type Attempted = Outcome['kind'] | 'lost' | 'released'
