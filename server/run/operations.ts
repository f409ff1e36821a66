/** The maintenance commands of `iamctl server`: check, backup, restore and migrate. */

import { resolve } from 'node:path'
import { type ConfigSources, loadConfig } from '#server/config/index.ts'
import { opensRootSecret, presentKey } from '#server/keys/present-key.ts'
import { rootSecretName } from '#server/keys/root-secret.ts'
import { systemClock } from '#server/platform/clock.ts'
import { MasterKeyError } from '#server/platform/sealing.ts'
import { BackupError } from '#server/storage/backup/format.ts'
import { restoreBackup, verifyBackup } from '#server/storage/backup/read.ts'
import { writeBackup } from '#server/storage/backup/write.ts'
import { parseLocation } from '#server/storage/location.ts'
import {
  migrateDatabase,
  openRestore,
  openSnapshot,
  readSchema,
  type SchemaReport,
} from '#server/storage/maintenance.ts'
import manifest from '../../package.json' with { type: 'json' }

export { checkServer } from './check.ts'
export { resetAdmin } from './reset-admin.ts'

const rowsIn = (rows: Readonly<Record<string, number>>): number =>
  Object.values(rows).reduce((sum, count) => sum + count, 0)

export interface BackupReport {
  readonly file: string
  readonly database: string
  readonly bytes: number
  readonly tables: number
  readonly rows: number
  readonly realms: number
}

export const backup = async (sources: ConfigSources, file: string): Promise<BackupReport> => {
  if (file === '-')
    throw new BackupError('a backup cannot be written to standard output: name a file')
  const { database } = loadConfig(sources)
  const snapshot = await openSnapshot(database.url)
  try {
    const now = new Date(systemClock.now())
    const { bytes, rows } = await writeBackup(snapshot, resolve(file), {
      version: manifest.version,
      now,
    })
    return {
      file,
      database: parseLocation(database.url).label,
      bytes,
      tables: snapshot.tables.length,
      rows: rowsIn(rows),
      realms: rows['realms'] ?? 0,
    }
  } finally {
    await snapshot.close()
  }
}

export interface RestoreReport {
  readonly file: string
  readonly database: string
  readonly rows: number
  readonly realms: number
  /** When the backup was made, and by which version. */
  readonly createdAt: string
  readonly version: string
  /** Whether the key that a start would use is there; one that does not fit ends the restore. */
  readonly masterKey: 'fits' | 'missing'
}

export const restore = async (sources: ConfigSources, file: string): Promise<RestoreReport> => {
  const config = loadConfig(sources)
  const { header, rows, meta } = await verifyBackup(file)
  const keyring = presentKey(config)
  const rootSecret = meta.get(rootSecretName)
  if (keyring && rootSecret !== undefined && !opensRootSecret(keyring, rootSecret))
    throw new MasterKeyError(
      `${file} was made under another master key: give the one of its server (IAMCTL_MASTER_KEY, --master-key-file or <data>/master.key)`,
    )
  await restoreBackup(file, await openRestore(config.database.url))
  return {
    file,
    database: parseLocation(config.database.url).label,
    rows: rowsIn(rows),
    realms: rows['realms'] ?? 0,
    createdAt: header.createdAt,
    version: header.version,
    masterKey: keyring ? 'fits' : 'missing',
  }
}

export interface MigrationReport extends SchemaReport {
  readonly dryRun: boolean
}

export const migrate = async (
  sources: ConfigSources,
  { dryRun }: { readonly dryRun: boolean },
): Promise<MigrationReport> => {
  const { url } = loadConfig(sources).database
  const before = await readSchema(url)
  if (!dryRun && before.pending.length > 0) await migrateDatabase(url)
  return { ...before, dryRun }
}
