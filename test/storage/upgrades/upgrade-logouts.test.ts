/** Pending logout notifications of an earlier version are delivered by the new one. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { migrate } from '#server/storage/migrate.ts'
import { migrations } from '#server/storage/migrations/index.ts'
import { openStorage } from '#server/storage/open.ts'
import { postgresSession } from '#server/storage/postgres/storage.ts'
import { sqliteSession } from '#server/storage/sqlite/storage.ts'
import { backends } from '../../support/backends.ts'

const before = migrations.filter(({ name }) => name < '0007')

const rows = [
  `insert into realms values ('acme', 1, 1, 1)`,
  `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
     values ('c1', 'acme', 'client', 'web', 'manual', 1, 'h', '{}', 1, 1)`,
  ...[
    `('s1', 'c1', 'acme', 1, 'u1', 3, 5000)`,
    `('s2', 'c1', 'acme', 1, null, 0, 7000)`,
    `('s3', 'c1', 'acme', 1, 'u1', 0, null)`,
  ].map(
    (values) =>
      `insert into session_clients (sid, client_id, realm, since, user_id, attempts, next_at) values ${values}`,
  ),
]

const fill = {
  sqlite: async (url: string) => {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    await migrate(sqliteSession(database, 'test'), before)
    for (const row of rows) database.exec(row)
    database.close()
  },
  postgres: async (url: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await migrate(postgresSession(client, 'test'), before)
    for (const row of rows) await client.query(row)
    await client.end()
  },
}

describe.each(backends)('logouts under way on $name', ({ name, create }) => {
  it('become jobs with their attempts and times, and sessions that last stay as they are', async () => {
    const { url, remove } = await create()
    await fill[name](url)
    const storage = await openStorage({ url })
    const jobs = await storage.db.selectFrom('jobs').selectAll().orderBy('next_at').execute()
    const common = { queue: 'logout', realm: 'acme', target: 'c1', state: 'waiting', lease: null }
    expect(jobs).toMatchObject([
      { ...common, attempts: 3, next_at: 5000, payload: '{"sid":"s1","user":"u1"}' },
      { ...common, attempts: 0, next_at: 7000, payload: '{"sid":"s2","user":null}' },
    ])
    const left = await storage.db.selectFrom('session_clients').selectAll().execute()
    expect(left).toEqual([{ sid: 's3', client_id: 'c1', realm: 'acme', since: 1, user_id: 'u1' }])
    await storage.close()
    await remove()
  })
})
