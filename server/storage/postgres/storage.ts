/** The contract on PostgreSQL: one pool reads, one writes, one connection listens; any number of nodes. */

import { Kysely, PostgresDialect, sql } from 'kysely'
import type pg from 'pg'
import {
  OutcomeUnknownError,
  type Statement,
  type StatementResult,
  type Storage,
  type StorageLogger,
  StorageUnavailableError,
} from '../contract.ts'
import { postgres } from '../dialect.ts'
import { type MigrationSession, migrate, type RunSql } from '../migrate.ts'
import { runPreparedBy } from '../prepared.ts'
import type { Tables } from '../tables.ts'
import { checkStatements } from '../values.ts'
import { adoptRestored } from './adopt.ts'
import { migratingClient, readingPool, sharedPool, writingPool } from './connections.ts'
import { reasonOf, unusable } from './failures.ts'
import { gatherReads, type Read } from './gathered-reads.ts'
import { GroupQueue, inTransactions, withSavepoints } from './groups.ts'
import { announcement, RealmListener } from './listener.ts'
import { ASKED_TOPIC, freeOf, isFencedOff, type Query, SoleWriter } from './sole-writer.ts'
import { StatementNames } from './statement-names.ts'
import { transact } from './transaction.ts'

const READERS = 8
const WRITERS = 6
const SHARED = 2
/** Longer lists would hold their rows, and everybody else of the group, for too long. */
const SHORT = 20
/** Any number will do as long as nobody else uses it: "iamctl" in hexadecimal. */
const MIGRATION_LOCK = 0x69616d63746c

export interface PostgresOptions {
  readonly url: string
  /** Host and database, for messages. */
  readonly label: string
  readonly logger?: StorageLogger | undefined
  readonly readers?: number | undefined
}

export async function openPostgres(options: PostgresOptions): Promise<Storage> {
  const { url, label, logger } = options
  try {
    await migrateDatabase(options)
    const listener = await RealmListener.start(url, logger)
    return postgresStorage(options, listener)
  } catch (error) {
    throw unusable(label, error)
  }
}

function postgresStorage(
  { url, label, logger, readers = READERS }: PostgresOptions,
  listener: RealmListener,
): Storage {
  const reading = watched(readingPool(url, readers), logger)
  const writing = watched(writingPool(url, WRITERS), logger)
  const shared = watched(sharedPool(url, SHARED), logger)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: reading }) })
  const read: Read = async (name, text, values) =>
    (await reading.query({ name, text, values: [...values] })).rows
  runPreparedBy(db, gatherReads(read))
  const soleWriter = new SoleWriter({
    read: queryOf(reading),
    write: queryOf(writing),
    tell: announcement(ASKED_TOPIC),
  })
  const database = { pool: writing, label, names: new StatementNames(), soleWriter }
  const appends = new GroupQueue(database, withSavepoints(database))
  const commits = new GroupQueue({ ...database, pool: shared }, inTransactions(database))
  listener.subscribe((topic) => {
    if (topic === ASKED_TOPIC) void soleWriter.asked()
  })
  const underWay = new Set<Promise<unknown>>()
  let closed: Promise<void> | undefined

  const write = async (
    statements: readonly Statement[],
    perform: () => Promise<StatementResult[]>,
  ): Promise<StatementResult[]> => {
    checkStatements(statements)
    if (closed !== undefined) throw new StorageUnavailableError('the database is closed')
    if (statements.length === 0) return []
    const ended = soleWriter.begin(statements)
    const work = perform()
    underWay.add(work)
    try {
      return await work
    } catch (error) {
      if (error instanceof OutcomeUnknownError) void soleWriter.leave()
      throw error
    } finally {
      ended()
      underWay.delete(work)
    }
  }
  const close = async (): Promise<void> => {
    // A pool that ends forgets those who still wait for a connection.
    await Promise.allSettled(underWay)
    await soleWriter.close()
    await listener.close()
    await writing.end()
    await shared.end()
    await reading.end()
  }
  return {
    dialect: postgres,
    db,
    commit: (statements) =>
      write(statements, () =>
        statements.length > SHORT
          ? transact(database, (run) => run(statements))
          : commits.push(statements),
      ),
    append: (statements) => write(statements, () => appends.push(statements)),
    subscribe: (follower) => listener.subscribe(follower),
    announce: announcement,
    listening: () => listener.listening,
    mark: () => soleWriter.mark(),
    alone: () => soleWriter.alone(),
    realmsMark: () => soleWriter.realmsMark(),
    ping: () =>
      sql`select 1`.execute(db).then(
        () => true,
        () => false,
      ),
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

function queryOf(client: Pick<pg.Pool | pg.Client, 'query'>): Query {
  return async (text, values) => (await client.query(text, [...values])).rows
}

/** Without a listener for errors a connection that breaks takes the process down, idle or in use. */
function watched(pool: pg.Pool, logger: StorageLogger | undefined): pg.Pool {
  pool.on('error', (error) => {
    logger?.warn({ reason: reasonOf(error) }, 'lost a connection to the database')
  })
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  return pool
}

async function migrateDatabase({ url, label, logger }: PostgresOptions): Promise<void> {
  const client = migratingClient(url)
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ server_encoding: string }>('show server_encoding')
    const encoding = rows[0]?.server_encoding
    if (encoding !== 'UTF8') {
      throw new StorageUnavailableError(
        `the database at ${label} has the encoding ${encoding}: make one with the encoding UTF8`,
      )
    }
    const session = postgresSession(client, label)
    const names = await migrate(session)
    if (names.length > 0) {
      logger?.info({ migrations: names }, 'the database schema was brought up to date')
    }
    if (await adoptRestored(client, session.transaction)) {
      logger?.info({}, 'the database was restored from elsewhere: its events come before new ones')
    }
  } finally {
    await client.end()
  }
}

export function postgresSession(client: pg.Client, label: string): MigrationSession {
  const run: RunSql = async (text) => (await client.query(text)).rows
  return {
    dialect: postgres,
    label,
    findTable: `select 1 where to_regclass('schema_migrations') is not null`,
    transaction: async (work) => {
      for (;;) {
        const done = await inTransaction(client, () => work(run))
        if (done !== undefined) return done.result
        const query = queryOf(client)
        await freeOf('', { read: query, write: query, tell: announcement(ASKED_TOPIC) })
      }
    },
  }
}

/** Nothing, and nothing done, when it would change what a node that runs takes for its own. */
async function inTransaction<T>(
  client: pg.Client,
  work: () => Promise<T>,
): Promise<{ readonly result: T } | undefined> {
  await client.query('begin')
  try {
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const result = await work()
    const fenced = await isFencedOff(queryOf(client))
    await client.query(fenced ? 'rollback' : 'commit')
    return fenced ? undefined : { result }
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
