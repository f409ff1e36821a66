/**
 * A node that is the only writer of the database knows about every change and need not query for changes. It holds a lease in
 * the row of `sole_writer`; every writing transaction ends with a check of that row (`fence`), and is rolled back if another
 * node holds it. A node that wants to write asks the holder to release the lease and waits. If the holder does not respond,
 * the lease ends `LEASE_MS` after the holder last confirmed it.
 *
 * Nothing here depends on notifications, on the clocks of two machines being the same, or on which connection of a
 * pooler a statement gets. Audit events are outside of it (see `Storage.mark`).
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#server/platform/ids.ts'
import { ALONE, type Alone, GuardFailedError, type Statement } from '../contract.ts'
import { WriteCount } from '../write-count.ts'

/** Duration of the lease; a node that starts after a crash of the holder waits that long. */
const LEASE_MS = 1_000
/** When a holder in use looks again. */
const RENEW_MS = 400
/** Clocks do not run equally fast. */
const GRACE_MS = 200
/** How long a node that had to go, or has met another, leaves it: twice as long every time, so that several live together. */
const FIRST_PAUSE_MS = 60_000
const LAST_PAUSE_MS = 3_600_000
/** Between two looks at a transaction, or a holder, that is still there. */
const LOOK_MS = 10

const GUARD = 'sole-writer'

const FENCE = 'select 1 from sole_writer where holder is null or holder = $1'
const CLAIM = 'update sole_writer set holder = $1, asked = 0 where holder is null'
/** One snapshot says that the name is there, and which transactions may not have seen it: those before its end. */
const RENEW = `select pg_snapshot_xmax(seen)::text as barrier,
    (pg_snapshot_xmin(seen) >= coalesce($2::text::xid8, pg_snapshot_xmax(seen))) as settled
  from sole_writer, pg_current_snapshot() as seen where holder = $1 and asked = 0`
const LEAVE = 'update sole_writer set holder = null, asked = 0 where holder = $1'
const ASK = 'update sole_writer set asked = 1 where holder <> $1 returning holder'
const IS_THERE = 'select 1 from sole_writer where holder = $1'

const FIND_TABLE = `select 1 where to_regclass('sole_writer') is not null`
const IS_FENCED_OFF = `select 1 from sole_writer
  where holder is not null and pg_current_xact_id_if_assigned() is not null`

/** Notification of the holder, so that it releases the lease at once instead of at its next check. */
export const ASKED_TOPIC = 'sole writer'

export type Query = (
  text: string,
  values: readonly unknown[],
) => Promise<readonly Record<string, unknown>[]>

export interface SoleWriterOptions {
  readonly read: Query
  /** A statement that is a transaction by itself. */
  readonly write: Query
  /** Wakes the holder. */
  readonly tell: Statement
  /** Else it only heeds what other nodes hold. */
  readonly mayHold: boolean
}

/** Whether a transaction was rolled back because another node holds the database. */
export const isFenced = (error: unknown): boolean =>
  error instanceof GuardFailedError && error.guard === GUARD

/** The same for a transaction that may come before the table, and may have written nothing. */
export async function isFencedOff(query: Query): Promise<boolean> {
  if ((await query(FIND_TABLE, [])).length === 0) return false
  return (await query(IS_FENCED_OFF, [])).length > 0
}

/** Asks another holder than `own` to release the lease; resolves when it is free. */
export async function freeOf(
  own: string,
  { read, write, tell }: Omit<SoleWriterOptions, 'mayHold'>,
): Promise<boolean> {
  const [row] = await write(ASK, [own])
  if (row === undefined) return false
  const holder = row['holder']
  // From here on it sees that it was asked whenever it looks.
  const patience = performance.now() + LEASE_MS + GRACE_MS
  await write(tell.sql, tell.parameters)
  while ((await read(IS_THERE, [holder])).length > 0) {
    if (performance.now() > patience) await write(LEAVE, [holder])
    else await sleep(LOOK_MS)
  }
  return true
}

/** Of one claim; a holder that goes and comes back has another name. */
interface Claim {
  readonly name: string
  /** Every transaction that may not have seen the name is before it; known once the name is there. */
  barrier: string | null
  /** All of those have ended. */
  settled: boolean
}

export class SoleWriter {
  readonly #options: SoleWriterOptions
  #claim: Claim | undefined
  readonly #writes = new WriteCount()
  #mark: string | undefined
  #markedAt = ''
  /** End of the lease: by the monotonic clock, and by the wall clock, which advances while the machine sleeps. */
  #until = 0
  #wallUntil = 0
  #nextLook = 0
  #pause = FIRST_PAUSE_MS
  #claimedAt = 0
  #looking: Promise<void> | undefined
  #freeing: Promise<void> | undefined
  #closed = false

  constructor(options: SoleWriterOptions) {
    this.#options = options
    if (!options.mayHold) this.#nextLook = Number.POSITIVE_INFINITY
  }

  /** The current mark while the lease is held; see `Storage.mark`. */
  mark(): string | undefined {
    const now = performance.now()
    if (now >= this.#nextLook && this.#looking === undefined && !this.#closed) this.#look(now)
    if (this.#claim === undefined || now >= this.#until || Date.now() >= this.#wallUntil)
      return undefined
    const { mark } = this.#writes
    if (this.#mark === undefined || this.#markedAt !== mark)
      this.#mark = `${this.#claim.name} ${mark}`
    this.#markedAt = mark
    return this.#mark
  }

  /** See `Storage.alone`. */
  alone(): Alone | undefined {
    if (this.mark() === undefined) return undefined
    const expect = { rows: 1, guard: ALONE }
    return { still: [{ sql: IS_THERE, parameters: [this.#own], expect }] }
  }

  realmsMark(): string | undefined {
    return this.mark() && `${this.#own} ${this.#writes.realmsMark}`
  }

  /** Counts a write when it begins, and by what it returns when it has ended. */
  begin(statements: readonly Statement[]): () => void {
    return this.#writes.begin(statements)
  }

  /** The last statement of every transaction that writes: only what has written by then is waited for by a claim. */
  fence(): Statement {
    return { sql: FENCE, parameters: [this.#own], expect: { rows: 1, guard: GUARD } }
  }

  /** Resolves when no other node holds the database. */
  free(): Promise<void> {
    this.#freeing ??= freeOf(this.#own, this.#options)
      .then((met) => {
        if (met) this.#pauseFor(FIRST_PAUSE_MS)
      })
      .finally(() => {
        this.#freeing = undefined
      })
    return this.#freeing
  }

  /** Another node wants to write. */
  async asked(): Promise<void> {
    if (this.#claim === undefined) return
    const held = performance.now() - this.#claimedAt
    if (held > this.#pause) this.#pause = FIRST_PAUSE_MS
    this.#pauseFor(this.#pause)
    this.#pause = Math.min(2 * this.#pause, LAST_PAUSE_MS)
    await this.leave()
  }

  /**
   * Nothing is trusted any more. Also for a write of this node that may still be under way although its connection is
   * gone: the next claim waits for it.
   */
  async leave(): Promise<void> {
    const claim = this.#claim
    this.#claim = undefined
    this.#mark = undefined
    this.#until = 0
    // The next writer removes a name that stays.
    if (claim !== undefined) await this.#options.write(LEAVE, [claim.name]).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#looking
    await this.leave()
  }

  get #own(): string {
    return this.#claim?.name ?? ''
  }

  #pauseFor(ms: number): void {
    this.#nextLook = Math.max(this.#nextLook, performance.now() + ms)
  }

  #look(now: number): void {
    this.#nextLook = now + RENEW_MS
    const look = this.#claim === undefined ? this.#take() : this.#renew(this.#claim)
    // The next query reports a database that does not respond; until then the lease is not trusted.
    this.#looking = look
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined
      })
  }

  async #take(): Promise<void> {
    const claim: Claim = { name: newId(), barrier: null, settled: false }
    // Before the claim is sent: a write of this node that comes after it must know the name.
    this.#claim = claim
    this.#claimedAt = performance.now()
    await this.#options.write(CLAIM, [claim.name])
    await this.#renew(claim)
  }

  async #renew(claim: Claim): Promise<void> {
    const sent = performance.now()
    const wall = Date.now()
    const [row] = await this.#options.read(RENEW, [claim.name, claim.barrier])
    if (this.#claim !== claim) return
    if (row === undefined) return this.asked()
    claim.barrier ??= String(row['barrier'])
    claim.settled ||= row['settled'] === 1
    if (!claim.settled) {
      this.#nextLook = sent + LOOK_MS
      return
    }
    this.#until = sent + LEASE_MS
    this.#wallUntil = wall + LEASE_MS
  }
}
