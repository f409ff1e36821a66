/** Reads PostgreSQL's errors. What they become holds no values: the server's `detail` quotes whole rows. */

import pg from 'pg'
import { ConstraintError, StorageUnavailableError } from '../contract.ts'
import { isPostgresFault } from '../faults.ts'

/** Deadlock, or a conflict of isolation: the same list may well pass the next time. */
const PASSING = ['40001', '40P01']

/** The server ends the session: another connection may do better. */
const SESSION_LOST = /^(08...|57P0.)$/

/** The server has become a standby: it refuses to write, and to begin a transaction that may (0A000, of no other statement). */
const READ_ONLY = ['25006', '0A000']

/** The server is being started or stopped, or has no room for a connection. */
const NOT_YET = /^(08...|57P0.|53300)$/

/** No machine, no name or no port yet, as of a container that is being started. */
const NOT_REACHED =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENOENT)$/

/** Errors of pg itself that have no code. */
const NOT_ANSWERED = /^(timeout expired|Connection terminated|Query read timeout)/

/** The connection was lost while statements were on the way; the transaction has not been committed. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError'
}

/** The server takes no writes, and has written nothing: another connection may lead to one that does. */
export class ReadOnlyServerError extends ConnectionLostError {}

/** Another transaction held a row for longer than was waited for it; nothing was written. */
export class LockTimeoutError extends StorageUnavailableError {}

export function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && PASSING.includes(error.code ?? '')
}

/** An error that the server did not send is one of the socket, unless it is about a value. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return SESSION_LOST.test(error.code ?? '')
  return !(error instanceof RangeError || error instanceof TypeError)
}

/** A broken connection is reported as lost, whatever the reason. */
export function classified(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && READ_ONLY.includes(error.code ?? ''))
    return new ReadOnlyServerError(error.message)
  return isConnectionLoss(error) ? new ConnectionLostError(reasonOf(error)) : error
}

/** The error a caller gets: typed where the contract has a type, else the server's words alone. */
export function errorOf(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const plain = new Error(`PostgreSQL ${error.code}: ${error.message}`)
  if (error.code === '23505') return new ConstraintError('unique', error.table ?? '', plain)
  if (error.code === '23503') return new ConstraintError('foreign-key', error.table ?? '', plain)
  if (error.code === '55P03') return new LockTimeoutError(plain.message)
  return isPostgresFault(error.code) ? new StorageUnavailableError(plain.message) : plain
}

/** The error of a read: one that the socket had is of storage, one that the server sent as for a write. */
export function readErrorOf(label: string, error: unknown): unknown {
  return isConnectionLoss(error) ? unusable(label, error) : errorOf(error)
}

export function unusable(label: string, error: unknown): StorageUnavailableError {
  if (error instanceof StorageUnavailableError) return error
  return new StorageUnavailableError(`cannot use PostgreSQL at ${label}: ${reasonOf(error)}`)
}

/** Another attempt may succeed; not so with a wrong password, database or certificate. */
export function mayComeUp(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message } = error as NodeJS.ErrnoException
  if (error instanceof pg.DatabaseError) return NOT_YET.test(code ?? '')
  return NOT_REACHED.test(code ?? '') || NOT_ANSWERED.test(message)
}

/** A name that resolved to several addresses gives an error with an empty message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(reasonOf).join(', ')
  }
  return error instanceof Error ? error.message : String(error)
}
