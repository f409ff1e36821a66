/**
 * One classification of the faults of both engines: the errors that say that the database cannot be used at this moment,
 * as opposed to those that refuse one statement. A request that meets one is answered with 503 and may be sent again;
 * readiness is down until the database can be used again.
 */

/** Of PostgreSQL: SQLSTATE codes and classes (appendix A of its manual). */
const SQLSTATES = [
  /** Connection exceptions. */
  '08',
  /** The server has become a standby. */
  '25006',
  /** Insufficient resources: disk full, out of memory, too many connections. */
  '53',
  /** Cancelled: the statement ran into its limit of time. */
  '57014',
  /** Shutdown, crash, starting up or in recovery, database dropped, idle session ended. */
  '57P0',
  /** The system below the server fails, such as its disk. */
  '58',
] as const

/** Of SQLite: primary result codes. */
const SQLITE_CODES: ReadonlySet<number> = new Set([
  5, // BUSY
  6, // LOCKED
  7, // NOMEM
  8, // READONLY
  10, // IOERR
  13, // FULL
  14, // CANTOPEN
  15, // PROTOCOL: the locks of the WAL could not be taken
])

export const isPostgresFault = (sqlState: string | undefined): boolean =>
  SQLSTATES.some((start) => sqlState?.startsWith(start))

/** The primary code is the low byte of an extended one. */
export const isSqliteFault = (code: number | undefined): boolean =>
  code !== undefined && SQLITE_CODES.has(code & 0xff)
