/** The contract on PostgreSQL: one pool reads, one reads what takes long, one writes, one connection listens; any number of nodes. */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import type pg from 'pg'
import {
  type Statement,
  type StatementResult,
  type Storage,
  type StorageLogger,
  StorageUnavailableError,
  type Wait,
} from '../contract.ts'
import { postgres } from '../dialect.ts'
import { type MigrationSession, migrate, type RunSql } from '../migrate.ts'
import { runPreparedBy } from '../prepared.ts'
import type { Tables } from '../tables/tables.ts'
import { checkStatements } from '../values.ts'
import { WriteDoubt } from '../write-doubt.ts'
import { adoptRestored } from './adopt.ts'
import {
  longReadingPool,
  migratingClient,
  readingPool,
  sharedPool,
  writingPool,
} from './connections.ts'
import { mayComeUp, reasonOf, unusable } from './failures.ts'
import { gatherReads, type Read } from './gathered-reads.ts'
import { GroupQueue, inTransactions, withSavepoints } from './groups.ts'
import { announcement, RealmListener } from './listener.ts'
import { Presence } from './presence.ts'
import { kyselyPool, readOn } from './reads.ts'
import { StatementNames } from './statement-names.ts'
import { transact } from './transaction.ts'

const READERS = 8
const LONG_READERS = 2
const WRITERS = 6
/** Two transactions of appends, and two of commits. */
const SHARED = 4
/** Longer lists would lock their rows, and delay the others of the group, for too long. */
const SHORT = 20
/** Between two attempts to reach a server that is being started. */
const ATTEMPT_MS = 500
/** On a connection that writes; never so on a standby. */
const WRITABLE = `select 1 where current_setting('transaction_read_only') = 'off'`
/** Changes nothing and is written all the same. */
const PROBE = `update schema_migrations set name = name where name = '0001-first'`
/** A write that needs new pages, as most do: an update finds room in a page that is there when the disk is full. One transaction. */
const growingProbe = (table: string): string =>
  `create table ${table} (filler text);
   insert into ${table} select repeat('x', 1000) from generate_series(1, 64);
   drop table ${table}`
/** The key of the advisory lock: "iamctl" in hexadecimal. */
const MIGRATION_LOCK = 0x69616d63746c

export interface PostgresOptions {
  readonly url: string
  /** Host and database, for messages. */
  readonly label: string
  readonly logger?: StorageLogger | undefined
  readonly readers?: number | undefined
  readonly wait?: Wait | undefined
}

export async function openPostgres(options: PostgresOptions): Promise<Storage> {
  const { label, logger, wait: { ms, signal } = { ms: 0 } } = options
  const end = performance.now() + ms
  for (let waits = false; ; waits = true) {
    signal?.throwIfAborted()
    try {
      return await openOnce(options)
    } catch (error) {
      const cause = unusable(label, error)
      if (ms === 0 || !mayComeUp(error)) throw cause
      const seconds = ms / 1000
      if (performance.now() >= end)
        throw new StorageUnavailableError(`${cause.message} (waited ${seconds} s)`)
      if (!waits)
        logger?.warn(
          { database: label, reason: reasonOf(error), seconds },
          'waiting for the database',
        )
      await sleep(ATTEMPT_MS, undefined, { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}

async function openOnce(options: PostgresOptions): Promise<Storage> {
  await migrateDatabase(options)
  const listener = await RealmListener.start(options.url, options.logger)
  try {
    return postgresStorage(options, listener, await Presence.start(options))
  } catch (error) {
    await listener.close()
    throw error
  }
}

function postgresStorage(
  { url, label, readers = READERS }: PostgresOptions,
  listener: RealmListener,
  presence: Presence,
): Storage {
  const reading = presence.watch(readingPool(url, readers, presence.sockets))
  const readingLong = presence.watch(longReadingPool(url, LONG_READERS, presence.sockets))
  const writing = presence.watch(writingPool(url, WRITERS, presence.sockets))
  const shared = presence.watch(sharedPool(url, SHARED, presence.sockets))
  const connections = { reads: () => presence.connect(reading), label }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: kyselyPool(connections) }) })
  const ofLongReads = { reads: () => presence.connect(readingLong), label }
  const longReads = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: kyselyPool(ofLongReads) }),
  })
  const read: Read = (name, text, values) =>
    readOn(connections, { name, text, values: [...values] })
  runPreparedBy(db, gatherReads(read))
  const connect = () => presence.connect(writing)
  const query = (text: string, values: readonly unknown[]) =>
    readOn({ reads: connect, label }, { text, values: [...values] })
  const database = { connect, label, names: new StatementNames() }
  const together = { ...database, connect: () => presence.connect(shared) }
  const appends = new GroupQueue(together, withSavepoints(together, database))
  const commits = new GroupQueue(together, inTransactions(database))
  const doubt = new WriteDoubt(async () => {
    try {
      // Nodes may ask at the same time.
      await query(growingProbe(`storage_probe_${randomUUID().slice(0, 8)}`), [])
    } catch (error) {
      if (error instanceof StorageUnavailableError) throw error
      // The role may make no tables.
      await query(PROBE, [])
    }
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
    const work = perform()
    underWay.add(work)
    try {
      return await doubt.watch(work)
    } finally {
      underWay.delete(work)
    }
  }
  const close = async (): Promise<void> => {
    // A pool that ends forgets those who still wait for a connection.
    await Promise.allSettled(underWay)
    await listener.close()
    await presence.close()
    await writing.end()
    await shared.end()
    await readingLong.end()
    await reading.end()
  }
  return {
    dialect: postgres,
    db,
    longReads,
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
    // Other nodes may write at any moment: the database has to be asked.
    mark: () => undefined,
    realmsMark: () => undefined,
    alone: false,
    ping: async () => {
      try {
        const [, [writable]] = await Promise.all([sql`select 1`.execute(db), query(WRITABLE, [])])
        return writable !== undefined && (await doubt.writes())
      } catch {
        return false
      }
    },
    close: () => {
      closed ??= close()
      return closed
    },
  }
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
    transaction: (work) => inTransaction(client, () => work(run)),
  }
}

async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`)
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
