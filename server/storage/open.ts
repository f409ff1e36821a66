/** Opens the database that a URL names, and migrates its schema. */

import type { Storage, StorageLogger, Wait } from './contract.ts'
import { parseLocation } from './location.ts'

export interface OpenOptions {
  /** `sqlite:PATH` or `postgres://…` */
  readonly url: string
  readonly logger?: StorageLogger
  /** How many connections may read at the same time. */
  readonly readers?: number
  readonly wait?: Wait | undefined
}

/** Throws StorageUnavailableError with one line for the operator, and no password in it. */
export async function openStorage({ url, logger, readers, wait }: OpenOptions): Promise<Storage> {
  const location = parseLocation(url)
  // Loaded on demand: the embedded server never pays for the PostgreSQL client, nor the other way round.
  if (location.kind === 'sqlite') {
    const { openSqlite } = await import('./sqlite/storage.ts')
    return openSqlite({ file: location.file, logger, readers })
  }
  const { openPostgres } = await import('./postgres/storage.ts')
  return openPostgres({ url: location.url, label: location.label, logger, readers, wait })
}
