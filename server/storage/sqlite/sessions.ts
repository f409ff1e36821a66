/** A connection to a SQLite database for work on its schema. */

import { StorageUnavailableError } from '../contract.ts'
import { sqlite } from '../dialect.ts'
import type { MigrationSession } from '../migrate.ts'
import { openReading, openWriting } from './connections.ts'
import { reasonOf } from './failures.ts'
import { createFile, holdLock } from './files.ts'
import { sqliteSession } from './storage.ts'

const unusable = (file: string, error: unknown): StorageUnavailableError =>
  error instanceof StorageUnavailableError
    ? error
    : new StorageUnavailableError(`cannot open the database ${file}: ${reasonOf(error)}`, {
        cause: error,
      })

const reading = async <T>(file: string, work: (session: MigrationSession) => Promise<T>) => {
  const database = openReading(file)
  try {
    const { findTable } = sqliteSession(database, file)
    const run = async (text: string) => database.prepare(text).all()
    return await work({ dialect: sqlite, label: file, findTable, transaction: (look) => look(run) })
  } finally {
    database.close()
  }
}

const writing = async <T>(file: string, work: (session: MigrationSession) => Promise<T>) => {
  const path = createFile(file)
  const unlock = await holdLock(path)
  try {
    const database = openWriting(path)
    try {
      return await work(sqliteSession(database, path))
    } finally {
      database.close()
    }
  } finally {
    unlock()
  }
}

/** To read is possible beside a server; to write needs the database for itself. */
export const withSqliteSession = async <T>(
  file: string,
  mode: 'read' | 'write',
  work: (session: MigrationSession) => Promise<T>,
): Promise<T> => {
  try {
    return await (mode === 'read' ? reading(file, work) : writing(file, work))
  } catch (error) {
    throw unusable(file, error)
  }
}
