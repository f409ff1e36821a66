/** Single statements on pooled connections, by text or through Kysely; their errors are those of the contract. */

import type { PostgresPool } from 'kysely'
import type pg from 'pg'
import { readErrorOf } from './failures.ts'

export interface Connections {
  readonly reads: () => Promise<pg.PoolClient>
  readonly label: string
}

type Row = Record<string, unknown>

export const readOn = async (
  { reads, label }: Connections,
  query: pg.QueryConfig,
): Promise<Row[]> => {
  const client = await reads()
  try {
    return (await client.query<Row>(query)).rows
  } catch (error) {
    throw readErrorOf(label, error)
  } finally {
    // A connection that is of no use any more is not kept by the pool.
    client.release()
  }
}

type KyselyClient = Awaited<ReturnType<PostgresPool['connect']>>

/** What Kysely takes for a pool. */
export const kyselyPool = ({ reads, label }: Connections): PostgresPool => {
  // Kysely keeps what it knows of a connection by its client.
  const known = new WeakMap<pg.PoolClient, KyselyClient>()
  const wrapped = (client: pg.PoolClient): KyselyClient => {
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      try {
        return await client.query(text, [...values])
      } catch (error) {
        throw readErrorOf(label, error)
      }
    }
    // The other form of it takes a cursor, which nothing here does.
    return { query: query as KyselyClient['query'], release: (destroy) => client.release(destroy) }
  }
  return {
    connect: async () => {
      const client = await reads()
      const before = known.get(client)
      if (before) return before
      const made = wrapped(client)
      known.set(client, made)
      return made
    },
    // The pool is ended by its owner.
    end: async () => {},
    options: {},
  }
}
