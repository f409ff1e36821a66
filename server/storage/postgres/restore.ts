/** An empty PostgreSQL database filled from a backup, in one transaction. */

import pg from 'pg'
import { BackupError, type RestoreTarget } from '../backup/format.ts'
import { postgres } from '../dialect.ts'
import { isPostgresFault } from '../faults.ts'
import { createTables, type RunSql } from '../migrate.ts'
import { migratingClient } from './connections.ts'
import { unusable } from './failures.ts'

interface ForeignKey {
  readonly table: string
  readonly name: string
  readonly definition: string
}

const quoted = (name: string): string => `"${name}"`

const refuseTables = async (client: pg.Client, label: string): Promise<void> => {
  const { rows } = await client.query<{ name: string }>(
    `select table_name::text as name from information_schema.tables
     where table_schema = current_schema() limit 1`,
  )
  const [table] = rows
  if (table)
    throw new BackupError(
      `the database ${label} is not empty (it has the table ${table.name}): make a new one for the restore`,
    )
}

/** Rows arrive in no order that would please them; they are made again when all are there, which checks them. */
const dropForeignKeys = async (client: pg.Client): Promise<readonly ForeignKey[]> => {
  const { rows } = await client.query<ForeignKey>(
    `select conrelid::regclass::text as table, conname::text as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`,
  )
  for (const { table, name } of rows)
    await client.query(`alter table ${table} drop constraint ${quoted(name)}`)
  return rows
}

/** Columns that hold the transaction of their row, by table: what is restored comes before every transaction here. */
const transactionColumns = async (
  client: pg.Client,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select table_name::text as table, array_agg(column_name::text) as columns
     from information_schema.columns where table_schema = current_schema() and data_type = 'xid8'
     group by table_name`,
  )
  return new Map(rows.map(({ table, columns }) => [table, columns]))
}

export const postgresRestore = async (url: string, label: string): Promise<RestoreTarget> => {
  const client = migratingClient(url)
  client.on('error', () => {})
  try {
    await client.connect()
    await refuseTables(client, label)
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error instanceof BackupError ? error : unusable(label, error)
  }
  const run: RunSql = async (text) => (await client.query(text)).rows
  let foreignKeys: readonly ForeignKey[] = []
  let before: ReadonlyMap<string, readonly string[]> = new Map()
  return {
    async begin(migrations) {
      await client.query('begin')
      await createTables(run, postgres, migrations)
      foreignKeys = await dropForeignKeys(client)
      before = await transactionColumns(client)
    },
    async clear({ table }) {
      await client.query(`delete from ${quoted(table)}`)
    },
    async insert({ table, columns }, rows) {
      const width = columns.length
      const firsts = before.get(table) ?? []
      const values = rows.map((_, row) => {
        const given = columns.map((_name, column) => `$${row * width + column + 1}`)
        return `(${[...given, ...firsts.map(() => `'0'`)].join(', ')})`
      })
      const names = [...columns, ...firsts].map(quoted).join(', ')
      await client.query(
        `insert into ${quoted(table)} (${names}) values ${values.join(', ')}`,
        rows.flat(),
      )
    },
    async commit(sequences) {
      for (const { table, name, definition } of foreignKeys)
        await client.query(`alter table ${table} add constraint ${quoted(name)} ${definition}`)
      // One that was never asked begins at 1, which is its least value.
      for (const [table, value] of Object.entries(sequences))
        await client.query(
          `select setval(pg_get_serial_sequence($1, 'id'), greatest($2::bigint, 1), $2::bigint > 0)`,
          [table, value],
        )
      await client.query('commit')
      await client.end()
    },
    async abandon() {
      await client.query('rollback').catch(() => undefined)
      await client.end().catch(() => undefined)
    },
    faultOf: (error) =>
      error instanceof pg.DatabaseError && isPostgresFault(error.code)
        ? unusable(label, error)
        : undefined,
  }
}
