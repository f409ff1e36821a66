/** A connection to a PostgreSQL database for work on its schema. */

import type { MigrationSession } from '../migrate.ts'
import { migratingClient } from './connections.ts'
import { unusable } from './failures.ts'
import { postgresSession } from './storage.ts'

export const withPostgresSession = async <T>(
  { url, label }: { readonly url: string; readonly label: string },
  work: (session: MigrationSession) => Promise<T>,
): Promise<T> => {
  const client = migratingClient(url)
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(postgresSession(client, label))
  } catch (error) {
    throw unusable(label, error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
