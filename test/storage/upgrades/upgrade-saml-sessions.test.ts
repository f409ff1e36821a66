/** Sessions at SAML service providers of an earlier version can still be ended there by the new one. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { migrate } from '#server/storage/migrate.ts'
import { migrations } from '#server/storage/migrations/index.ts'
import { openStorage } from '#server/storage/open.ts'
import { postgresSession } from '#server/storage/postgres/storage.ts'
import { sqliteSession } from '#server/storage/sqlite/storage.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'

const before = migrations.filter(({ name }) => name < '0031')

const rows = [
  `insert into realms (name, revision, seq, created_at) values ('acme', 1, 1, 1)`,
  `insert into documents (id, realm, kind, key, origin, version, hash, body, created_at, updated_at)
     values ('p1', 'acme', 'saml-client', 'https://sp.example', 'manual', 1, 'h', '{}', 1, 1)`,
  `insert into users (id, realm, username, username_key, email_verified, enabled, locked, managed,
     attributes, required_actions, version, created_at, updated_at)
     values ('u1', 'acme', 'alice', 'alice', 0, 1, 0, 0, '{}', '[]', 1, 1, 1)`,
  `insert into saml_sessions values ('s1', 'p1', 'acme', 'u1', 'a name', 'persistent', '_1', 1, 9)`,
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

describe.each(backends)('sessions at service providers on $name', ({ name, create }) => {
  it('are kept by the upgrade, and outlive their user but not their service provider', async () => {
    const { url, remove } = await create()
    await fill[name](url)
    const storage = await openStorage({ url })
    const { db } = storage
    const left = () => db.selectFrom('saml_sessions').selectAll().execute()
    const session = { sid: 's1', name_id: 'a name', session_index: '_1', logout_request: null }
    expect(await left()).toMatchObject([session])
    await storage.commit([statement(db.deleteFrom('users').where('id', '=', 'u1'))])
    expect(await left()).toMatchObject([session])
    await storage.commit([statement(db.deleteFrom('documents').where('id', '=', 'p1'))])
    expect(await left()).toEqual([])
    await storage.close()
    await remove()
  })
})
