/**
 * Queries and statements that are made once and used many times: building and compiling one costs several times what
 * SQLite needs to run it, and PostgreSQL plans a text again unless it has a name.
 */

import type { CompiledQuery, Kysely } from 'kysely'
import type { Statement } from './contract.ts'
import type { Tables } from './tables/tables.ts'

/** What each use gives, by name. */
type Values = Readonly<Record<string, string | number | null>>

interface Compilable<R> {
  compile(): CompiledQuery<R>
}

/** Placeholder of a value while the query is built. */
class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type Build<P, R> = (db: Kysely<Tables>, values: P) => Compilable<R>

interface Template<R> {
  readonly query: CompiledQuery<R>
  fill(values: Values): unknown[]
}

const templateOf = <P extends Values, R>(db: Kysely<Tables>, build: Build<P, R>): Template<R> => {
  // The query takes a slot as it would take the value, which it passes on unseen.
  const slots = new Proxy({}, { get: (_, name) => new Slot(String(name)) }) as P
  const query = build(db, slots).compile()
  return {
    query,
    fill: (values) =>
      query.parameters.map((given) => (given instanceof Slot ? values[given.name] : given)),
  }
}

/** One template for a database. */
const templates = <P extends Values, R>(build: Build<P, R>) => {
  const made = new WeakMap<Kysely<Tables>, Template<R>>()
  return (db: Kysely<Tables>): Template<R> => {
    const before = made.get(db)
    if (before) return before
    const template = templateOf(db, build)
    made.set(db, template)
    return template
  }
}

/** Runs a text that is made; the name is of this text alone, and the database may keep by it how the text is run. */
export type RunPrepared = (
  name: string,
  text: string,
  parameters: readonly unknown[],
) => Promise<unknown[]>

const runners = new WeakMap<Kysely<Tables>, RunPrepared>()

/** Prepared queries go past Kysely from now on: its part in them costs more than SQLite's or the driver's. */
export const runPreparedBy = (db: Kysely<Tables>, run: RunPrepared): void => {
  runners.set(db, run)
}

/** Within a transaction, or with plugins, Kysely has its part. */
const throughKysely = async <R>(
  db: Kysely<Tables>,
  query: CompiledQuery<R>,
  parameters: readonly unknown[],
): Promise<R[]> => (await db.executeQuery<R>({ ...query, parameters })).rows

type RunQuery<P, R> = (db: Kysely<Tables>, values: P) => Promise<R[]>

/** The name must be of this query alone. */
export const preparedQuery = <P extends Values, R>(
  name: string,
  build: Build<P, R>,
): RunQuery<P, R> => {
  const templateFor = templates(build)
  return (db, values) => {
    const { query, fill } = templateFor(db)
    const parameters = fill(values)
    const run = runners.get(db)
    return run
      ? (run(name, query.sql, parameters) as Promise<R[]>)
      : throughKysely(db, query, parameters)
  }
}

export const preparedStatement = <P extends Values>(
  build: Build<P, unknown>,
  expect?: Statement['expect'],
): ((db: Kysely<Tables>, values: P) => Statement) => {
  const templateFor = templates(build)
  return (db, values) => {
    const { query, fill } = templateFor(db)
    return { sql: query.sql, parameters: fill(values), ...(expect === undefined ? {} : { expect }) }
  }
}

/**
 * A query about several keys, with one text for each power of two: few texts, so that each is planned once. The caller fills
 * the places beyond its keys with values that no row has.
 */
export const preparedPerSize = <P extends Values, R>(
  name: string,
  build: (db: Kysely<Tables>, values: P, size: number) => Compilable<R>,
): ((count: number) => { readonly size: number; readonly query: RunQuery<P, R> }) => {
  const queries = new Map<number, RunQuery<P, R>>()
  return (count) => {
    const size = 2 ** Math.ceil(Math.log2(count))
    const query =
      queries.get(size) ??
      preparedQuery<P, R>(`${name}-${size}`, (db, values) => build(db, values, size))
    queries.set(size, query)
    return { size, query }
  }
}
