/** Connections to the database file: one that writes, others that only read. */

import { DatabaseSync } from 'node:sqlite'

/** How long a connection waits for a lock that a tool outside (a backup, a shell) may hold; a request waits as long. */
const BUSY_MS = 1_500

/**
 * WAL lets readers go on beside the writer; FULL makes a resolved commit survive a power cut; deleted secrets are
 * overwritten. Checkpoints run in the writing connection, and a WAL grown by a large batch is cut back afterwards.
 */
export function openWriting(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
  try {
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma secure_delete = on;
      pragma journal_size_limit = 67108864;
    `)
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

export function openReading(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: BUSY_MS, readOnly: true })
}
