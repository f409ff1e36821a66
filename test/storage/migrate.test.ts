/** The migration runner: order, atomicity, and refusal of unknown databases. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type MigrationSession, migrate } from '#server/storage/migrate.ts'
import { migrations } from '#server/storage/migrations/index.ts'
import type { Migration } from '#server/storage/migrations/migration.ts'
import { postgresSession } from '#server/storage/postgres/storage.ts'
import { sqliteSession } from '#server/storage/sqlite/storage.ts'
import { type Backend, backends } from '../support/backends.ts'

interface Connected {
  readonly session: MigrationSession
  readonly tables: () => Promise<string[]>
  readonly end: () => Promise<void>
}

const connect: Record<Backend['name'], (url: string) => Promise<Connected>> = {
  sqlite: async (url) => {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    const list = `select name from sqlite_schema where type = 'table' order by name`
    return {
      session: sqliteSession(database, 'test'),
      tables: async () =>
        database
          .prepare(list)
          .all()
          .map(({ name }) => String(name)),
      end: async () => database.close(),
    }
  },
  postgres: async (url) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const list = `select tablename as name from pg_tables where schemaname = 'public' order by 1`
    return {
      session: postgresSession(client, 'test'),
      tables: async () => (await client.query(list)).rows.map(({ name }) => String(name)),
      end: () => client.end(),
    }
  },
}

const one: Migration = { name: '0001-one', statements: () => ['create table one (a bigint)'] }
const two: Migration = {
  name: '0002-two',
  statements: ({ text }) => [`create table two (a ${text})`, 'insert into one values (1)'],
}
const broken: Migration = {
  name: '0002-two',
  statements: () => ['create table two (a bigint)', 'insert into nowhere values (1)'],
}

describe.each(backends)('migrations on $name', ({ name, create }) => {
  const withDatabase = async (use: (connected: Connected) => Promise<void>): Promise<void> => {
    const { url, remove } = await create()
    const connected = await connect[name](url)
    try {
      await use(connected)
    } finally {
      await connected.end()
      await remove()
    }
  }

  it('run once, in order, and only those that are missing', () =>
    withDatabase(async ({ session, tables }) => {
      expect(await migrate(session, [one])).toEqual(['0001-one'])
      expect(await migrate(session, [one, two])).toEqual(['0002-two'])
      expect(await migrate(session, [one, two])).toEqual([])
      expect(await tables()).toEqual(['one', 'schema_migrations', 'two'])
    }))

  it('that fail leave nothing behind, and those before them done', () =>
    withDatabase(async ({ session, tables }) => {
      await expect(migrate(session, [one, broken])).rejects.toThrow('nowhere')
      expect(await tables()).toEqual(['one', 'schema_migrations'])
      expect(await migrate(session, [one, two])).toEqual(['0002-two'])
    }))

  it('refuse a database with a name they do not know before they touch it', () =>
    withDatabase(async ({ session, tables }) => {
      await migrate(session, [one, two])
      const three: Migration = {
        name: '0003-three',
        statements: () => ['create table three (a bigint)'],
      }
      await expect(migrate(session, [one, three])).rejects.toThrow(
        'the database test was made by a newer iamctl (it holds 0002-two)',
      )
      expect(await tables()).toEqual(['one', 'schema_migrations', 'two'])
    }))
})

describe('the list of migrations', () => {
  it('has unique names that sort in the order of the list', () => {
    const names = migrations.map((migration) => migration.name)
    expect(names).toEqual([...new Set(names)].toSorted())
    for (const name of names) expect(name).toMatch(/^\d{4}-[a-z0-9-]+$/)
  })
})
