/** Statements for the write path, made from Kysely's builders. */

import { type CompiledQuery, type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Statement } from './contract.ts'
import type { Tables } from './tables.ts'

type Table = keyof Tables & string

interface Compilable {
  compile(): CompiledQuery
}

/** Far below the limit of either database (32,766 and 65,535): larger statements only cost memory. */
const PARAMETERS = 2_000

/** Lists of keys and ids go in slices, below both databases' parameter limits. */
export function inSlices<T>(values: readonly T[], size = 1000): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size),
  )
}

export function statement(query: Compilable, expect?: Statement['expect']): Statement {
  const { sql: text, parameters } = query.compile()
  return { sql: text, parameters, ...(expect === undefined ? {} : { expect }) }
}

/**
 * A statement that must touch exactly `rows` rows, or the whole list is rolled back. Guard by an UPDATE or DELETE:
 * a SELECT takes no lock on PostgreSQL, so that what it saw may change before the commit.
 */
export function guarded(query: Compilable, guard: string, rows = 1): Statement {
  return statement(query, { rows, guard })
}

/** Inserts any number of rows, which all have the columns of the first. */
export function insertRows<T extends Table>(
  db: Kysely<Tables>,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
): Statement[] {
  const [first] = rows
  if (first === undefined) return []
  const columns = Object.keys(first)
  const size = Math.max(1, Math.floor(PARAMETERS / columns.length))
  // The text depends on the number of rows alone: compiled once for all full chunks, once for the last.
  const textOf = (length: number): string =>
    db
      .insertInto(table)
      .values(Array.from({ length }, () => first))
      .compile().sql
  const full = rows.length >= size ? textOf(size) : ''
  const statements: Statement[] = []
  for (let start = 0; start < rows.length; start += size) {
    const chunk = rows.slice(start, start + size)
    const text = chunk.length === size ? full : textOf(chunk.length)
    statements.push({ sql: text, parameters: chunk.flatMap((row) => valuesOf(row, columns)) })
  }
  return statements
}

function valuesOf(row: object, columns: readonly string[]): unknown[] {
  const values = new Map(Object.entries(row))
  if (values.size !== columns.length)
    throw new TypeError('rows of one insert have different columns')
  return columns.map((column) => values.get(column))
}

/**
 * Removes rows and returns them: of any number of callers that take the same row exactly one gets it. With a
 * `guard` the list is rolled back unless there was exactly one.
 */
export function take<T extends Table>(
  db: Kysely<Tables>,
  table: T,
  where: Partial<Selectable<Tables[T]>>,
  guard?: string,
): Statement {
  const conditions = Object.entries(where).map(([column, value]) =>
    value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`,
  )
  if (conditions.length === 0) throw new TypeError('take without a condition would empty the table')
  const all = sql.join(conditions, sql` and `)
  const query = sql`delete from ${sql.table(table)} where ${all} returning *`
  const compilable = { compile: () => query.compile(db) }
  return guard === undefined ? statement(compilable) : guarded(compilable, guard)
}
