/**
 * Kysely's view of the database, for reads: a few read-only connections in the calling thread. A query is
 * synchronous and needs one only for a moment; a transaction keeps its own, and sees one snapshot.
 */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type LimitNode,
  type OffsetNode,
  type OperationNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely'
import type { RunPrepared } from '../prepared.ts'
import type { Tables } from '../tables/tables.ts'
import { openReading } from './connections.ts'
import { reading } from './failures.ts'
import { bindChecked, type Prepare, type Row, statementCache } from './statements.ts'

export function sqliteReader(file: string, connections: number): Kysely<Tables> {
  const dialect: Dialect = {
    createAdapter: () => new ReaderAdapter(),
    createDriver: () => new ReaderDriver(file, connections),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new ReaderCompiler(),
  }
  return new Kysely<Tables>({ dialect })
}

/** A connection for prepared queries, which are synchronous and never within a transaction: one is enough. */
export function preparedReader(file: string): { run: RunPrepared; close: () => void } {
  const database = openReading(file)
  const prepare = statementCache(database)
  const readers = new WeakMap<StatementSync, RowReader>()
  const readerOf = (text: string): RowReader => {
    const { statement } = prepare(text)
    const reader = readers.get(statement) ?? rowReader(statement)
    readers.set(statement, reader)
    return reader
  }
  return {
    run: async (_name, text, parameters) => reading(() => readerOf(text)(bindChecked(parameters))),
    close: () => database.close(),
  }
}

type RowReader = (values: readonly SQLInputValue[]) => Row[]

/**
 * Copies of one object with the columns: an object that SQLite's binding makes is a dictionary, which costs twice as much to
 * make, and several times as much to take apart.
 */
function rowReader(statement: StatementSync): RowReader {
  statement.setReturnArrays(true)
  const names = statement.columns().map(({ name }) => name)
  const empty: Row = JSON.parse(
    JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))),
  )
  return (values) =>
    (statement.all(...values) as unknown as SQLOutputValue[][]).map((cells) => {
      const row = { ...empty }
      for (const [index, name] of names.entries()) row[name] = cells[index] ?? null
      return row
    })
}

/** SQLite plans a statement with a bound LIMIT or OFFSET at every use, because the plan may depend on its value. */
export class ReaderCompiler extends SqliteQueryCompiler {
  protected override visitLimit({ kind, limit }: LimitNode): void {
    super.visitLimit({ kind, limit: written(limit) })
  }

  protected override visitOffset({ kind, offset }: OffsetNode): void {
    super.visitOffset({ kind, offset: written(offset) })
  }
}

const written = (node: OperationNode): OperationNode =>
  ValueNode.is(node) && Number.isSafeInteger(node.value)
    ? ValueNode.createImmediate(node.value)
    : node

export class ReaderAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class ReaderDriver implements Driver {
  readonly #file: string
  readonly #limit: number
  readonly #all: ReaderConnection[] = []
  readonly #idle: ReaderConnection[] = []
  readonly #waiting: ((connection: ReaderConnection) => void)[] = []

  constructor(file: string, limit: number) {
    this.#file = file
    this.#limit = limit
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ReaderConnection> {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#all.length < this.#limit) {
      const connection = new ReaderConnection(reading(() => openReading(this.#file)))
      this.#all.push(connection)
      return connection
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async releaseConnection(connection: ReaderConnection): Promise<void> {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(connection)
    else next(connection)
  }

  async beginTransaction(connection: ReaderConnection): Promise<void> {
    reading(() => connection.database.exec('begin'))
  }

  async commitTransaction(connection: ReaderConnection): Promise<void> {
    connection.database.exec('commit')
  }

  async rollbackTransaction(connection: ReaderConnection): Promise<void> {
    if (connection.database.isTransaction) connection.database.exec('rollback')
  }

  async destroy(): Promise<void> {
    for (const { database } of this.#all) database.close()
  }
}

class ReaderConnection implements DatabaseConnection {
  readonly database: DatabaseSync
  readonly #prepare: Prepare

  constructor(database: DatabaseSync) {
    this.database = database
    this.#prepare = statementCache(database)
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const rows = reading(() => this.#prepare(sql).statement.all(...bindChecked(parameters)))
    // The one cast between what the tables promise and what the file holds.
    return { rows: rows as R[] }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('storage does not stream: read page by page')
  }
}
