/** Connections to PostgreSQL: a timeout for everything, and numbers as on SQLite. */

import { Socket } from 'node:net'
import pg from 'pg'

const CONNECT_MS = 10_000
const ANSWER_MS = 1_500
const STATEMENT_MS = 30_000
const LONG_READ_MS = 10_000
const LOCK_MS = 10_000
/** Reads wait only for a lock of a whole table, such as that of a change of its columns: as long as SQLite waits for its file. */
const READ_LOCK_MS = 1_500
/** Of a transaction that several share: long before PostgreSQL looks for a deadlock, which takes it a second. */
const SHARED_LOCK_MS = 25
const IDLE_IN_TRANSACTION_MS = 30_000
/** Longer than any limit the server keeps itself: it only ends the wait for a server that has gone silent. */
const SILENCE_MS = 45_000

/** For reads; a write through it fails, as on SQLite. */
export function readingPool(url: string, max: number, sockets: Set<Socket>): pg.Pool {
  return pool(url, max, sockets, {
    options: '-c default_transaction_read_only=on',
    lock_timeout: READ_LOCK_MS,
  })
}

/** For reads of many rows, which come in parts: one that takes longer is not worth its share of the database. */
export function longReadingPool(url: string, max: number, sockets: Set<Socket>): pg.Pool {
  return pool(url, max, sockets, {
    options: '-c default_transaction_read_only=on',
    statement_timeout: LONG_READ_MS,
  })
}

/** For writes, whatever the database has for a default: not every statement says in which kind of transaction it runs. */
export function writingPool(url: string, max: number, sockets: Set<Socket>): pg.Pool {
  return pool(url, max, sockets, { options: WRITING })
}

/** For transactions that several share: one that has to wait for a row goes on alone. */
export function sharedPool(url: string, max: number, sockets: Set<Socket>): pg.Pool {
  return pool(url, max, sockets, { options: WRITING, lock_timeout: SHARED_LOCK_MS })
}

const WRITING =
  '-c default_transaction_read_only=off -c default_transaction_isolation=read\\ committed'

/** For migrations, which may take as long as they need. */
export function migratingClient(url: string): pg.Client {
  return new pg.Client(base(url))
}

/** For LISTEN; its own queries are short. */
export function listeningClient(url: string): pg.Client {
  return new pg.Client({ ...base(url), query_timeout: CONNECT_MS })
}

/** For the question whether the server answers, by which time it is of no use to a request either. */
export function askingClient(url: string): pg.Client {
  return new pg.Client({
    ...base(url),
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  })
}

/** The client for the first connection has no limit for connecting: a PostgreSQL that has just been started is slow. */
export function firstAskingClient(url: string): pg.Client {
  return new pg.Client({ ...base(url), query_timeout: ANSWER_MS })
}

function pool(url: string, max: number, sockets: Set<Socket>, more: pg.PoolConfig): pg.Pool {
  return new pg.Pool({
    ...base(url),
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    query_timeout: SILENCE_MS,
    // A list of statements goes out at once and costs one round trip. Also, only so does pg give up a connection
    // whose query ran into `query_timeout`; otherwise the pool would hand it out again.
    pipeline: true,
    max,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: 3_600,
    stream: () => listed(sockets),
    ...more,
  })
}

/** As pg makes it; also one that is not connected yet can be given up. */
function listed(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  return socket.once('close', () => sockets.delete(socket))
}

function base(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    fallback_application_name: 'iamctl',
    types: numberTypes(),
  }
}

/**
 * Integers of 64 bits, sums and truth values are numbers, as on SQLite; beyond 2^53 an error, never rounded. Set
 * per connection: the parsers of `pg.types` belong to the whole process.
 */
function numberTypes(): pg.TypeOverrides {
  const types = new pg.TypeOverrides(pg.types)
  const { INT8, NUMERIC, BOOL } = pg.types.builtins
  types.setTypeParser(INT8, safeInteger)
  types.setTypeParser(NUMERIC, (text) => (text.includes('.') ? Number(text) : safeInteger(text)))
  types.setTypeParser(BOOL, (text) => (text === 't' ? 1 : 0))
  return types
}

function safeInteger(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError('a stored integer is beyond 2^53 - 1')
  return number
}
