/** Prepared statements of one SQLite connection, kept by their SQL, and the rules for binding values to them. */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { refusal } from '../values.ts'

/** Lists of varying length make ever new SQL; the least recently used statement gives way. */
const KEPT = 400

export interface Prepared {
  readonly statement: StatementSync
  /** It returns rows: a SELECT, or a write with RETURNING. */
  readonly reader: boolean
}

export type Prepare = (sql: string) => Prepared
export type Row = Record<string, SQLOutputValue>

export function statementCache(database: DatabaseSync): Prepare {
  const kept = new Map<string, Prepared>()
  return (sql) => {
    const known = kept.get(sql)
    if (known !== undefined) {
      kept.delete(sql)
      kept.set(sql, known)
      return known
    }
    const statement = database.prepare(sql)
    const prepared = { statement, reader: statement.columns().length > 0 }
    kept.set(sql, prepared)
    if (kept.size > KEPT) {
      for (const [oldest] of kept) {
        kept.delete(oldest)
        break
      }
    }
    return prepared
  }
}

/** For unchecked parameters. */
export function bindChecked(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters.map((value, index) => {
    const reason = refusal(value)
    if (reason !== undefined)
      throw new TypeError(`parameter ${index + 1} cannot be used: ${reason}`)
    return bind(value)
  })
}

/** Whole numbers go as bigint: as a JavaScript number each would be stored as REAL. */
export function bind(value: unknown): SQLInputValue {
  if (typeof value === 'number') return BigInt(value)
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'string' || typeof value === 'bigint' || value === null) return value
  throw new TypeError(`a value of type ${typeof value} cannot be stored`)
}
