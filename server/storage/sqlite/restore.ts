/** A new SQLite file from a backup: filled beside its place and put there when it is whole. */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { BackupError, type RestoreTarget } from '../backup/format.ts'
import { sqlite } from '../dialect.ts'
import { createTables, type RunSql } from '../migrate.ts'
import { faultOf } from './failures.ts'
import { createFile } from './files.ts'

const quoted = (name: string): string => `"${name}"`

const refuseExisting = (file: string): void => {
  // A WAL without its database would be applied to the new one.
  for (const one of [file, `${file}-wal`])
    if (existsSync(one))
      throw new BackupError(
        `${one} exists: stop the server and move the old database away, with its -wal and -shm`,
      )
}

export const sqliteRestore = async (file: string): Promise<RestoreTarget> => {
  refuseExisting(file)
  const draft = `${file}.restoring`
  const remove = (): void => {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true })
  }
  remove()
  createFile(draft)
  // References are checked once, when all rows are there.
  const database = new DatabaseSync(draft, { enableForeignKeyConstraints: false })
  const run: RunSql = async (text) => database.prepare(text).all()
  return {
    async begin(migrations) {
      database.exec('begin immediate')
      await createTables(run, sqlite, migrations)
    },
    async clear({ table }) {
      database.exec(`delete from ${quoted(table)}`)
    },
    async insert({ table, columns }, rows) {
      const values = columns.map(() => '?').join(', ')
      const statement = database.prepare(
        `insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values (${values})`,
      )
      for (const row of rows) statement.run(...(row as (string | number | null)[]))
    },
    async commit(sequences) {
      const [wrong] = database.prepare('pragma foreign_key_check').all()
      if (wrong) throw new BackupError(`a row of ${wrong['table']} refers to none that exists`)
      for (const [name, value] of Object.entries(sequences)) {
        database.prepare('delete from sqlite_sequence where name = ?').run(name)
        database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(name, value)
      }
      database.exec('commit')
      database.exec('pragma journal_mode = wal')
      database.close()
      refuseExisting(file)
      renameSync(draft, file)
      remove()
    },
    async abandon() {
      if (database.isOpen) database.close()
      remove()
    },
    faultOf: (error) => faultOf(error, `cannot fill the database ${file}`),
  }
}
