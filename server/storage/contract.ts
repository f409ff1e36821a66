/**
 * The storage contract: what both databases promise to everything above them.
 *
 * Reads go through `db` (Kysely, read-only use). Every write is a list of guarded statements that is decided
 * beforehand and committed as ONE transaction without a round trip in between: that is what lets one writer
 * thread own the SQLite connection, lets many writes share one fsync, and makes the same code run on PostgreSQL.
 * A statement that must touch an exact number of rows says so in `expect`; if it does not, the whole list is
 * rolled back and the caller learns which guard failed. Never read first and write later without such a guard.
 */

import type { Kysely } from 'kysely'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables/tables.ts'

export interface Statement {
  readonly sql: string
  /** Text, safe integers, booleans (as 0 or 1) and null; `values.ts` refuses anything else. */
  readonly parameters: readonly unknown[]
  /** How many rows must be changed or returned, and the name of the guard that failed otherwise. */
  readonly expect?: { readonly rows: number; readonly guard: string }
  /** The caller does not read its count: it may be run once with the rows of other lists. */
  readonly uncounted?: true
}

export interface StatementResult {
  /** Rows changed, or returned where the statement has a RETURNING clause. */
  readonly count: number
  readonly rows: readonly Record<string, unknown>[]
}

export interface Storage {
  readonly dialect: Dialect
  /** For reads only: a write through it would bypass the guards and, on SQLite, fail. */
  readonly db: Kysely<Tables>
  /**
   * As `db`, for queries whose rows a tenant can make many: they run beside the event loop, and take no connection from
   * `db`. Without transactions. A query that may look at any number of rows is cut into parts by the caller, so that
   * those of several realms take turns.
   */
  readonly longReads: Kysely<Tables>
  /**
   * All statements or none; resolves when they are durable. Short lists that come at the same moment may share a
   * transaction, as if one came after the other. One that fails, or waits for a lock, does not hold up its neighbours.
   */
  commit(statements: readonly Statement[]): Promise<StatementResult[]>
  /**
   * As `commit`, for inserts that take no lock another writer waits for (audit, tokens, sessions): the appends of many
   * callers share one transaction, and none of them waits for commits.
   */
  append(statements: readonly Statement[]): Promise<StatementResult[]>
  /**
   * Calls back with a topic after any node's commit that named it in `announce`; with null when notifications
   * may have been missed (a reconnect), so that the follower re-reads. Returns the unsubscriber.
   */
  subscribe(listener: (topic: string | null) => void): () => void
  /**
   * The statement that makes `subscribe` fire on the other nodes once it is committed. A topic is the name of a
   * realm, or words with a space between them, which no realm is called.
   */
  announce(topic: string): Statement | undefined
  /** Whether `subscribe` currently receives every commit; otherwise time-critical callers poll. */
  listening(): boolean
  /**
   * A mark of what is committed: as long as it is the same, whatever was read since it was first seen is still so, but for
   * audit events. It may change for no reason. Undefined where the database has to be asked for it; see `Dialect`.
   */
  mark(): string | undefined
  /** As `mark`, of the realms and their configuration alone. */
  realmsMark(): string | undefined
  /** No other process writes to the database as long as it is open: what this one keeps in memory is as good as stored. */
  readonly alone: boolean
  /** Whether the database answers; used by readiness. */
  ping(): Promise<boolean>
  /** Refuses new writes, waits for those under way, and lets go of the database. */
  close(): Promise<void>
}

/** Where the drivers report what an operator should know; a pino logger fits. */
export interface StorageLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** How long a PostgreSQL that cannot be reached yet is waited for; not at all unless given. */
export interface Wait {
  readonly ms: number
  /** Ends the wait, with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** A guard of the list failed after a concurrent write. Decide again, or answer a conflict. */
export class GuardFailedError extends Error {
  override readonly name = 'GuardFailedError'
  readonly guard: string
  constructor(guard: string) {
    super(`storage guard "${guard}" did not hold`)
    this.guard = guard
  }
}

/** A unique or foreign-key rule of the database refused the list; nothing of it was written. */
export class ConstraintError extends Error {
  override readonly name = 'ConstraintError'
  readonly constraint: 'unique' | 'foreign-key'
  /** The table that declares the rule; of a foreign key the one that refers, e.g. `document_refs`. */
  readonly table: string
  constructor(constraint: 'unique' | 'foreign-key', table: string, cause: unknown) {
    super(`${constraint} rule of ${table} refused the write`, { cause })
    this.constraint = constraint
    this.table = table
  }
}

/**
 * The database could not be opened or reached, and nothing was written; the message is one line, fit to be
 * shown to an operator.
 */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError'
}

/**
 * The connection (or the writer) was lost after the commit was asked for and before it was confirmed. The list
 * is there as a whole or not at all, but which is unknown: only a caller with an idempotency key may repeat it.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
}
