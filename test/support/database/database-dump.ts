/** Every row of every table as text, to search for values that must not be stored. */

import { sql } from 'kysely'
import type { Storage } from '#server/storage/contract.ts'

const tablesOf = async ({ db, dialect }: Storage): Promise<string[]> => {
  const names = await (dialect.name === 'postgres'
    ? sql<{
        name: string
      }>`select tablename as name from pg_tables where schemaname = current_schema()`
    : sql<{ name: string }>`select name from sqlite_master where type = 'table'`
  ).execute(db)
  return names.rows.map(({ name }) => name)
}

export const dumpDatabase = async (storage: Storage): Promise<string> => {
  const parts: string[] = []
  for (const name of await tablesOf(storage)) {
    const { rows } = await sql`select * from ${sql.table(name)}`.execute(storage.db)
    parts.push(
      `${name}: ${JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    )
  }
  return parts.join('\n')
}
