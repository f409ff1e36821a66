/** Statements for the write path, made from Kysely's builders. */

import { type CompiledQuery, type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Statement } from './contract.ts'
import type { Dialect } from './dialect.ts'
import type { Tables } from './tables/tables.ts'

type Table = keyof Tables & string

interface Compilable {
  compile(): CompiledQuery
}

/** Far below the limit of either database (32,766 and 65,535): larger statements only cost memory. */
const PARAMETERS = 2_000
/** Inserts of so many rows come back again and again. */
const FEW = 16

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
 * A statement that must touch exactly `rows` rows, or the whole list is rolled back. Guard by an UPDATE or DELETE, or by
 * what `held` makes of a SELECT: a plain one takes no lock on PostgreSQL, so that what it saw may change before the commit.
 */
export function guarded(query: Compilable, guard: string, rows = 1): Statement {
  return statement(query, { rows, guard })
}

/** An insert whose count is not read, so that it may be run once for several lists. */
export function uncounted(insert: Statement): Statement {
  return { ...insert, uncounted: true }
}

/** For a guard that writes nothing: the rows it selects stay as they are until the commit. */
export function held<Q extends { forNoKeyUpdate(): Q }>(dialect: Dialect, rows: Q): Q {
  return dialect.sharedByProcesses ? rows.forNoKeyUpdate() : rows
}

/** Whether it writes audit events and nothing else. */
export function isRecord({ sql: text }: Statement): boolean {
  return text.startsWith('insert into "audit_events"')
}

/** Whether it may change realms; every write of configuration counts the realm's changes. */
export function isOfRealms({ sql: text }: Statement): boolean {
  return /\brealms\b/.test(text)
}

/** Inserts any number of rows, which all have the columns of the first. */
export function insertRows<T extends Table>(
  db: Kysely<Tables>,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
): Statement[] {
  const [first] = rows
  if (first === undefined) return []
  const { columns, texts } = shapeOf(db, table, Object.keys(first))
  const size = Math.max(1, Math.floor(PARAMETERS / columns.length))
  const statements: Statement[] = []
  for (let start = 0; start < rows.length; start += size) {
    const chunk = rows.length <= size ? rows : rows.slice(start, start + size)
    const { length } = chunk
    const text =
      texts.get(length) ??
      db
        .insertInto(table)
        .values(Array.from({ length }, () => first))
        .compile().sql
    if (length === size || length <= FEW) texts.set(length, text)
    const parameters: unknown[] = []
    for (const row of chunk) addValues(parameters, row, columns)
    statements.push({ sql: text, parameters })
  }
  return statements
}

/** The text of an insert depends on table, columns and number of rows alone; compiling costs more than the rest of it. */
interface InsertShape {
  readonly columns: readonly string[]
  readonly texts: Map<number, string>
}

const insertShapes = new WeakMap<Kysely<Tables>, Map<string, InsertShape[]>>()

function shapeOf(db: Kysely<Tables>, table: string, columns: readonly string[]): InsertShape {
  const ofTables = insertShapes.get(db) ?? new Map<string, InsertShape[]>()
  insertShapes.set(db, ofTables)
  const ofTable = ofTables.get(table) ?? []
  ofTables.set(table, ofTable)
  const known = ofTable.find((shape) => isSame(shape.columns, columns))
  if (known) return known
  const shape = { columns, texts: new Map<number, string>() }
  ofTable.push(shape)
  return shape
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index])
}

function addValues(values: unknown[], row: object, columns: readonly string[]): void {
  if (Object.keys(row).length !== columns.length || !columns.every((column) => column in row))
    throw new TypeError('rows of one insert have different columns')
  for (const column of columns) values.push((row as Readonly<Record<string, unknown>>)[column])
}

/** A row by id and version with its new values; without values it is deleted. */
interface Versioned {
  readonly id: string
  readonly version: number
  readonly set?: Readonly<Record<string, string | number | null>>
}

/** The rows by id and version as a table `given`, whose text depends on their number alone. */
function givenRows(columns: readonly string[], numbers: ReadonlySet<string>, length: number) {
  const cell = (column: string) => (numbers.has(column) ? sql`cast(${0} as bigint)` : sql`${''}`)
  const tuple = sql`(${sql.join(columns.map(cell))})`
  const tuples = Array.from({ length }, () => tuple)
  return sql`with given (${sql.join(columns.map((column) => sql.ref(column)))}) as (values ${sql.join(tuples)})`
}

/**
 * Changes or deletes any number of rows, which all set the same columns, in few statements: each must still have
 * the version that was seen, or the whole list is rolled back.
 */
export function changeRows<T extends 'documents' | 'users'>(
  db: Kysely<Tables>,
  table: T,
  rows: readonly Versioned[],
): Statement[] {
  const [first] = rows
  if (first === undefined) return []
  const set = Object.keys(first.set ?? {})
  // Whatever else is set, the row is found by its own id and the version it had.
  const columns = ['own_id', 'seen', ...set]
  const numbers = new Set([
    'seen',
    ...set.filter((column) => rows.some((row) => typeof row.set?.[column] === 'number')),
  ])
  const at = sql.table(table)
  const given = (column: string) => sql.ref(`given.${column}`)
  const own = sql`${sql.ref(`${table}.id`)} = ${given('own_id')} and ${sql.ref(`${table}.version`)} = ${given('seen')}`
  const change =
    set.length > 0
      ? sql`update ${at} set ${sql.join(set.map((column) => sql`${sql.ref(column)} = ${given(column)}`))} from given where ${own}`
      : sql`delete from ${at} where (id, version) in (select own_id, seen from given)`
  const textOf = (length: number): string =>
    sql`${givenRows(columns, numbers, length)} ${change}`.compile(db).sql
  const size = Math.max(1, Math.floor(PARAMETERS / columns.length))
  const full = rows.length >= size ? textOf(size) : ''
  return inSlices(rows, size).map((part) => ({
    sql: part.length === size ? full : textOf(part.length),
    parameters: part.flatMap((row) => [
      row.id,
      row.version,
      ...set.map((column) => row.set?.[column]),
    ]),
    expect: { rows: part.length, guard: table },
  }))
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
