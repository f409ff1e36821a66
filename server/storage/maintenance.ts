/** Maintenance of a whole database: backup, restore, schema check and migration. */

import { existsSync } from 'node:fs'
import type { RestoreTarget, Snapshot } from './backup/format.ts'
import { type Location, parseLocation } from './location.ts'
import { type MigrationSession, migrate, schemaState } from './migrate.ts'
import { migrations } from './migrations/index.ts'

export const openSnapshot = async (url: string): Promise<Snapshot> => {
  const location = parseLocation(url)
  if (location.kind === 'sqlite')
    return (await import('./sqlite/snapshot.ts')).sqliteSnapshot(location.file)
  const { postgresSnapshot } = await import('./postgres/snapshot.ts')
  return postgresSnapshot(location.url, location.label)
}

export const openRestore = async (url: string): Promise<RestoreTarget> => {
  const location = parseLocation(url)
  if (location.kind === 'sqlite')
    return (await import('./sqlite/restore.ts')).sqliteRestore(location.file)
  const { postgresRestore } = await import('./postgres/restore.ts')
  return postgresRestore(location.url, location.label)
}

/** A session for as long as the work takes; `write` holds the database, as a starting server does. */
const withSession = async <T>(
  location: Location,
  mode: 'read' | 'write',
  work: (session: MigrationSession) => Promise<T>,
): Promise<T> => {
  if (location.kind === 'sqlite') {
    const { withSqliteSession } = await import('./sqlite/sessions.ts')
    return withSqliteSession(location.file, mode, work)
  }
  const { withPostgresSession } = await import('./postgres/sessions.ts')
  return withPostgresSession(location, work)
}

export interface SchemaReport {
  /** Host and database, or the file; never a password. */
  readonly label: string
  /** False of a SQLite file that a start would make. */
  readonly exists: boolean
  readonly applied: readonly string[]
  readonly pending: readonly string[]
}

/** Changes nothing, and makes nothing. */
export const readSchema = async (url: string): Promise<SchemaReport> => {
  const location = parseLocation(url)
  const { label } = location
  if (location.kind === 'sqlite' && !existsSync(location.file))
    return { label, exists: false, applied: [], pending: migrations.map(({ name }) => name) }
  return { label, exists: true, ...(await withSession(location, 'read', schemaState)) }
}

/** The names of those that were run. */
export const migrateDatabase = (url: string): Promise<string[]> =>
  withSession(parseLocation(url), 'write', migrate)
