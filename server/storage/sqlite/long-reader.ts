/**
 * Kysely's view of the database for reads that look at many rows: each query runs in a thread with a connection of its
 * own, so that requests are answered meanwhile. The threads start with the first such query.
 */

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteIntrospector,
} from 'kysely'
import { createThreadCalls, type ThreadCalls } from '#server/platform/threads/thread-calls.ts'
import { threadEntry } from '#server/platform/threads/thread-entry.ts'
import { StorageUnavailableError } from '../contract.ts'
import type { Tables } from '../tables/tables.ts'
import type { LongAnswer, LongRead } from './long-reader-thread.ts'
import { ReaderAdapter, ReaderCompiler } from './reader.ts'

/** One realm that reads for long leaves a thread to the others. */
const THREADS = 2

export function longReader(file: string): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new ReaderAdapter(),
      createDriver: () => new ThreadDriver(file),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new ReaderCompiler(),
    },
  })
}

class ThreadDriver implements Driver {
  readonly #threads: ThreadCalls<LongRead, LongAnswer>
  readonly #connection: DatabaseConnection

  constructor(file: string) {
    const threads = createThreadCalls<LongRead, LongAnswer>({
      entry: threadEntry(import.meta.url, './long-reader-thread.ts', 'sqlite-reader.js'),
      name: 'sqlite-reader',
      size: THREADS,
    })
    this.#threads = threads
    this.#connection = {
      executeQuery: async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
        const answer = await threads.call({ file, sql, parameters })
        if ('unavailable' in answer) throw new StorageUnavailableError(answer.unavailable)
        return { rows: answer.rows as R[] }
      },
      streamQuery: () => {
        throw new Error('storage does not stream: read page by page')
      },
    }
  }

  async init(): Promise<void> {}

  /** Queries are handed out to threads one by one: there is nothing to wait for here. */
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(): Promise<void> {
    throw new Error('long reads have no transactions: each query sees its own moment')
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.#threads.close()
  }
}
