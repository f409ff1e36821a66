/** All rows of a PostgreSQL database as of one moment, while servers go on: one repeatable-read transaction. */

import type pg from 'pg'
import { type BackupRow, notCopied, type Snapshot, type TableLine } from '../backup/format.ts'
import { portablePosition } from './adopt.ts'
import { migratingClient } from './connections.ts'
import { unusable } from './failures.ts'

const batchSize = 500

/** Columns of other types are those that PostgreSQL fills in by itself, and mean nothing elsewhere. */
const ownTypes = `('text', 'bigint')`

const tablesOf = async (client: pg.Client): Promise<TableLine[]> => {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select c.table_name::text as table, array_agg(c.column_name::text order by c.ordinal_position) as columns
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'
       and c.table_name <> all ($1) and c.data_type in ${ownTypes}
     group by c.table_name order by c.table_name collate "C"`,
    [notCopied],
  )
  return rows
}

const sequencesOf = async (client: pg.Client): Promise<Record<string, number>> => {
  const { rows } = await client.query<{ table: string; sequence: string }>(
    `select table_name::text as table, pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
     from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`,
  )
  const found: Record<string, number> = {}
  for (const { table, sequence } of rows) {
    const state = await client.query<{ last_value: number; is_called: number }>(
      `select last_value, is_called from ${sequence}`,
    )
    const [{ last_value: last, is_called: called } = { last_value: 0, is_called: 0 }] = state.rows
    if (called) found[table] = last
  }
  return found
}

const quoted = (name: string): string => `"${name}"`

async function* batches(
  client: pg.Client,
  { table, columns }: TableLine,
): AsyncGenerator<BackupRow[]> {
  const list = columns.map(quoted).join(', ')
  await client.query(
    `declare backup_rows no scroll cursor for select ${list} from ${quoted(table)}`,
  )
  for (;;) {
    const { rows } = await client.query<unknown[]>({
      text: `fetch ${batchSize} from backup_rows`,
      rowMode: 'array',
    })
    if (rows.length === 0) break
    yield rows
  }
  await client.query('close backup_rows')
}

async function* cursors(client: pg.Client, table: TableLine): AsyncGenerator<BackupRow[]> {
  const at = table.columns.indexOf('position')
  for await (const rows of batches(client, table)) {
    const moved: BackupRow[] = []
    for (const row of rows) moved.push(row.with(at, await portablePosition(client, row[at])))
    yield moved
  }
}

export const postgresSnapshot = async (url: string, label: string): Promise<Snapshot> => {
  const client = migratingClient(url)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query<{ name: string; applied_at: number }>(
      'select name, applied_at from schema_migrations order by name',
    )
    return {
      database: 'postgres',
      migrations: rows.map(({ name, applied_at: appliedAt }) => ({ name, appliedAt })),
      sequences: await sequencesOf(client),
      tables: await tablesOf(client),
      rows: (table) =>
        table.table === 'outbox_cursors' ? cursors(client, table) : batches(client, table),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw unusable(label, error)
  }
}
