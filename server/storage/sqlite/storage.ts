/** The contract on SQLite: one file, one server; a thread writes, the calling thread reads, threads read what takes long. */

import type { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import {
  type Statement,
  type StatementResult,
  type Storage,
  type StorageLogger,
  StorageUnavailableError,
} from '../contract.ts'
import { sqlite } from '../dialect.ts'
import { type MigrationSession, migrate, type RunSql } from '../migrate.ts'
import { runPreparedBy } from '../prepared.ts'
import { checkStatements } from '../values.ts'
import { WriteDoubt } from '../write-doubt.ts'
import { openWriting } from './connections.ts'
import { reasonOf } from './failures.ts'
import { createFile, holdLock } from './files.ts'
import { longReader } from './long-reader.ts'
import { preparedReader, sqliteReader } from './reader.ts'
import { SqliteWriter } from './writer.ts'

const READERS = 4

/** A write that needs new pages, as most do: an update in place would go through where the disk is full. */
const PROBE = [
  'create table storage_probe (filler blob)',
  'insert into storage_probe values (zeroblob(65536))',
  'drop table storage_probe',
].map((text) => ({ sql: text, parameters: [] }))

export interface SqliteOptions {
  readonly file: string
  readonly logger?: StorageLogger | undefined
  readonly readers?: number | undefined
}

export async function openSqlite({
  file,
  logger,
  readers = READERS,
}: SqliteOptions): Promise<Storage> {
  const path = createFile(file)
  const unlock = await holdLock(path)
  try {
    await migrateFile(path, logger)
    const onDeath = (error: Error): void =>
      logger?.error({ err: error }, 'the database writer died')
    const writer = await SqliteWriter.start({ file: path, onDeath })
    return sqliteStorage(path, writer, readers, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function sqliteStorage(
  file: string,
  writer: SqliteWriter,
  readers: number,
  unlock: () => void,
): Storage {
  const db = sqliteReader(file, readers)
  const longReads = longReader(file)
  const prepared = preparedReader(file)
  runPreparedBy(db, prepared.run)
  const doubt = new WriteDoubt(() => writer.submit(PROBE, 'commit'))
  const write = async (
    statements: readonly Statement[],
    kind: 'commit' | 'append',
  ): Promise<StatementResult[]> => {
    checkStatements(statements)
    return statements.length === 0 ? [] : doubt.watch(writer.submit(statements, kind))
  }
  const close = async (): Promise<void> => {
    await writer.drain()
    await longReads.destroy()
    await db.destroy()
    prepared.close()
    await writer.close()
    unlock()
  }
  let closed: Promise<void> | undefined
  return {
    dialect: sqlite,
    db,
    longReads,
    commit: (statements) => write(statements, 'commit'),
    append: (statements) => write(statements, 'append'),
    // No other process writes the file, and this one knows what it wrote.
    subscribe: () => () => {},
    announce: () => undefined,
    listening: () => true,
    mark: () => writer.marks.mark,
    // The file is locked for this process.
    alone: true,
    realmsMark: () => writer.marks.realmsMark,
    ping: async () => {
      if (!writer.alive) return false
      const reads = await sql`select 1`.execute(db).then(
        () => true,
        () => false,
      )
      return reads && doubt.writes()
    },
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

async function migrateFile(file: string, logger: StorageLogger | undefined): Promise<void> {
  let database: DatabaseSync | undefined
  try {
    database = openWriting(file)
    const names = await migrate(sqliteSession(database, file))
    if (names.length > 0)
      logger?.info({ migrations: names }, 'the database schema was brought up to date')
  } catch (error) {
    if (error instanceof StorageUnavailableError) throw error
    throw new StorageUnavailableError(`cannot open the database ${file}: ${reasonOf(error)}`, {
      cause: error,
    })
  } finally {
    database?.close()
  }
}

/** A migration's transaction: immediate, so that it has the write lock before it looks at what is there. */
export function sqliteSession(database: DatabaseSync, label: string): MigrationSession {
  const run: RunSql = async (text) => database.prepare(text).all()
  return {
    dialect: sqlite,
    label,
    findTable: `select 1 from sqlite_schema where type = 'table' and name = 'schema_migrations'`,
    transaction: async (work) => {
      database.exec('begin immediate')
      try {
        const result = await work(run)
        database.exec('commit')
        return result
      } catch (error) {
        if (database.isTransaction) database.exec('rollback')
        throw error
      }
    },
  }
}
