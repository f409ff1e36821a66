/** Reads SQLite's errors: which rule refused a statement, and in which table it is declared. */

import { StorageUnavailableError } from '../contract.ts'
import { isSqliteFault } from '../faults.ts'
import type { Failure } from './messages.ts'
import type { Prepare } from './statements.ts'

const IO_ERROR = 10
const UNIQUE = [1555, 2067, 2579]
const FOREIGN_KEY = 787

export function failureOf(error: unknown, sql: string, prepare: Prepare): Failure {
  const message = reasonOf(error)
  const code = errorCode(error)
  if (code !== undefined && UNIQUE.includes(code)) {
    const [, index, owner] =
      /^UNIQUE constraint failed: (?:index '([^']+)'|([^.]+))/.exec(message) ?? []
    const table = index === undefined ? (owner ?? '') : tableOfIndex(index, prepare)
    return { kind: 'constraint', constraint: 'unique', table, message }
  }
  if (code === FOREIGN_KEY) {
    return {
      kind: 'constraint',
      constraint: 'foreign-key',
      table: referringTable(sql, prepare),
      message,
    }
  }
  const kind = isSqliteFault(code) ? 'unavailable' : 'refused'
  return { kind, message: `SQLite ${code ?? 'error'}: ${message}` }
}

/** Runs a read; the error of a file that cannot be used now is one of storage, not of the query. */
export function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw faultOf(error, 'cannot read the database') ?? error
  }
}

/** The error of a file that cannot be used now, as one of storage. */
export function faultOf(error: unknown, what: string): StorageUnavailableError | undefined {
  if (!isSqliteFault(errorCode(error))) return undefined
  return new StorageUnavailableError(`${what}: ${reasonOf(error)}`, { cause: error })
}

/** The disk failed while a commit was made safe: what it holds is only known after the next start. */
export function isDiskFailure(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (code & 0xff) === IO_ERROR
}

function errorCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined
}

/** An index on an expression is named in place of the columns. */
function tableOfIndex(index: string, prepare: Prepare): string {
  const { statement } = prepare(`select tbl_name as name from sqlite_schema where name = ?`)
  return String(statement.get(index)?.['name'] ?? '')
}

/**
 * SQLite does not say which foreign key was broken. An insert or update breaks its own table's; a delete that of
 * a table that refers to it, directly or through rows that the delete takes along.
 */
function referringTable(sql: string, prepare: Prepare): string {
  const [, verb = '', table = ''] =
    /^\s*(insert|update|delete)\s(?:.*?\s)??(?:(?:into|from)\s+)?"?([a-z_]+)"?/is.exec(sql) ?? []
  if (verb.toLowerCase() !== 'delete') return table
  const { statement } = prepare(
    `select t.name as child, k.on_delete as action from sqlite_schema t, pragma_foreign_key_list(t.name) k
     where t.type = 'table' and k."table" = ?`,
  )
  const seen = new Set([table])
  for (const parent of seen) {
    for (const { child, action } of statement.all(parent)) {
      if (action === 'NO ACTION' || action === 'RESTRICT') return String(child)
      if (action === 'CASCADE') seen.add(String(child))
    }
  }
  return table
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
