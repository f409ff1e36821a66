/**
 * Brings a database to this version's schema: each migration is one transaction under a lock, so that processes
 * that start together run it once and a failed one leaves nothing behind. A database that holds a migration this
 * version does not know is refused before anything is touched.
 */

import { StorageUnavailableError } from './contract.ts'
import type { Dialect } from './dialect.ts'
import { migrations as all } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'

export type Row = Record<string, unknown>
export type RunSql = (sql: string) => Promise<readonly Row[]>

/** What the runner needs from a database. */
export interface MigrationSession {
  readonly dialect: Dialect
  /** How messages call the database. */
  readonly label: string
  /** Answers a row when `schema_migrations` exists. */
  readonly findTable: string
  /** One transaction that no other process's migration can overlap with. */
  transaction<T>(work: (run: RunSql) => Promise<T>): Promise<T>
}

/** Returns the names that were run; none when the schema was current. */
export async function migrate(
  session: MigrationSession,
  migrations: readonly Migration[] = all,
): Promise<string[]> {
  const done: string[] = []
  for (;;) {
    const name = await session.transaction((run) => runNext(session, migrations, run))
    if (name === undefined) return done
    done.push(name)
  }
}

async function runNext(
  { dialect, label, findTable }: MigrationSession,
  migrations: readonly Migration[],
  run: RunSql,
): Promise<string | undefined> {
  const fresh = (await run(findTable)).length === 0
  const rows = fresh ? [] : await run('select name from schema_migrations order by name')
  const applied = new Set(rows.map(({ name }) => String(name)))
  refuseNewer(label, migrations, applied)
  const next = migrations.find(({ name }) => !applied.has(name))
  if (next === undefined) return undefined
  if (fresh) {
    await run(
      `create table schema_migrations (name ${dialect.columns.text} primary key, applied_at bigint not null)`,
    )
  }
  for (const statement of next.statements(dialect.columns)) await run(statement)
  // No parameters: the databases spell them differently, and the name is one of our own.
  await run(`insert into schema_migrations values ('${next.name}', ${Date.now()})`)
  return next.name
}

function refuseNewer(
  label: string,
  migrations: readonly Migration[],
  applied: ReadonlySet<string>,
): void {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = [...applied].filter((name) => !known.has(name))
  if (unknown.length === 0) return
  throw new StorageUnavailableError(
    `the database ${label} was made by a newer iamctl (it holds ${unknown.join(', ')}): start that version or a later one`,
  )
}
