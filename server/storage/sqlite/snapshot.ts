/** All rows of a SQLite database as of one moment, also while a server writes to it: a read transaction of its WAL. */

import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type BackupRow, notCopied, type Snapshot, type TableLine } from '../backup/format.ts'
import { StorageUnavailableError } from '../contract.ts'
import { openReading } from './connections.ts'
import { reasonOf } from './failures.ts'

const batchSize = 500

const tablesOf = (database: DatabaseSync): TableLine[] =>
  database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
       and name not in (${notCopied.map((name) => `'${name}'`)}) order by name`,
    )
    .all()
    .map(({ name }) => ({
      table: String(name),
      columns: database
        .prepare('select name from pragma_table_info(?) order by cid')
        .all(String(name))
        .map((column) => String(column['name'])),
    }))

const sequencesOf = (database: DatabaseSync): Record<string, number> =>
  Object.fromEntries(
    database
      .prepare('select name, seq from sqlite_sequence')
      .all()
      .map(({ name, seq }) => [String(name), Number(seq)]),
  )

const quoted = (name: string): string => `"${name}"`

function* batches(database: DatabaseSync, { table, columns }: TableLine): Generator<BackupRow[]> {
  const list = columns.map(quoted).join(', ')
  let batch: BackupRow[] = []
  for (const row of database.prepare(`select ${list} from ${quoted(table)}`).iterate()) {
    batch.push(columns.map((column) => row[column] ?? null))
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

export const sqliteSnapshot = async (file: string): Promise<Snapshot> => {
  if (!existsSync(file))
    throw new StorageUnavailableError(
      `there is no database ${file}: see --data (IAMCTL_DATA) and --database-url (IAMCTL_DATABASE_URL)`,
    )
  const database = openReading(file)
  try {
    database.exec('begin')
    const migrations = database
      .prepare('select name, applied_at from schema_migrations order by name')
      .all()
      .map((row) => ({ name: String(row['name']), appliedAt: Number(row['applied_at']) }))
    return {
      database: 'sqlite',
      migrations,
      sequences: sequencesOf(database),
      tables: tablesOf(database),
      async *rows(table) {
        yield* batches(database, table)
      },
      close: async () => database.close(),
    }
  } catch (error) {
    database.close()
    throw new StorageUnavailableError(`cannot read the database ${file}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}
