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
  if (fresh) await createList(run, dialect)
  await apply(run, dialect, next, Date.now())
  return next.name
}

async function createList(run: RunSql, { columns }: Dialect): Promise<void> {
  await run(
    `create table schema_migrations (name ${columns.text} primary key, applied_at bigint not null)`,
  )
}

async function apply(
  run: RunSql,
  { columns }: Dialect,
  { name, statements }: Migration,
  at: number,
): Promise<void> {
  for (const statement of statements(columns)) await run(statement)
  // No parameters: the databases spell them differently, and the name is one of our own.
  await run(`insert into schema_migrations values ('${name}', ${at})`)
}

/** The tables as they were when a backup was made, in the caller's transaction; a later start brings them up to date. */
export async function createTables(
  run: RunSql,
  dialect: Dialect,
  applied: readonly { readonly name: string; readonly appliedAt: number }[],
  migrations: readonly Migration[] = all,
): Promise<void> {
  refuseNewer('of the backup', migrations, new Set(applied.map(({ name }) => name)))
  await createList(run, dialect)
  const times = new Map(applied.map(({ name, appliedAt }) => [name, appliedAt]))
  for (const migration of migrations) {
    const at = times.get(migration.name)
    if (at !== undefined) await apply(run, dialect, migration, at)
  }
}

/** Which migrations a database has and which it lacks; nothing is changed. */
export async function schemaState(
  { label, findTable, transaction }: MigrationSession,
  migrations: readonly Migration[] = all,
): Promise<{ readonly applied: readonly string[]; readonly pending: readonly string[] }> {
  return transaction(async (run) => {
    const fresh = (await run(findTable)).length === 0
    const rows = fresh ? [] : await run('select name from schema_migrations order by name')
    const applied = rows.map(({ name }) => String(name))
    refuseNewer(label, migrations, new Set(applied))
    const known = new Set(applied)
    const pending = migrations.map(({ name }) => name).filter((name) => !known.has(name))
    return { applied, pending }
  })
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
