/** Databases of an earlier version are upgraded at the next start, and keep all data. */
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Storage } from '#server/storage/contract.ts'
import { migrations } from '#server/storage/migrations/index.ts'
import { openStorage } from '#server/storage/open.ts'
import { insertRows } from '#server/storage/statements.ts'
import { eventRow } from '../../conformance/storage/rows.ts'
import { type Backend, backends } from '../../support/backends.ts'

const fixture = (name: Backend['name']): Promise<string> =>
  readFile(new URL(`../fixtures/0001-first.${name}.sql`, import.meta.url), 'utf8')

const load: Record<Backend['name'], (url: string, script: string) => Promise<void>> = {
  sqlite: async (url, script) => {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    database.exec(script)
    database.close()
  },
  postgres: async (url, script) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(script)
    await client.end()
  },
}

const names = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name)

const usable = async (storage: Storage): Promise<void> => {
  await storage.append(insertRows(storage.db, 'audit_events', [eventRow('acme', 'AFTER')]))
  const ids = await storage.db.selectFrom('audit_events').select('id').orderBy('id').execute()
  expect(ids).toEqual([{ id: 41 }, { id: 42 }])
}

describe.each(backends)('a $name database of the first schema', ({ name, create }) => {
  it('has every migration after the start, and its rows unchanged', async () => {
    const { url, remove } = await create()
    await load[name](url, await fixture(name))
    const storage = await openStorage({ url })
    const { db } = storage

    const applied = await sql<{ name: string }>`
      select name from schema_migrations order by name`.execute(db)
    expect(names(applied.rows)).toEqual(migrations.map((migration) => migration.name))

    const realms = await db.selectFrom('realms').select(['name', 'seq']).orderBy('name').execute()
    expect(realms).toEqual([
      { name: 'acme', seq: Number.MAX_SAFE_INTEGER },
      { name: 'master', seq: 1 },
    ])
    const documents = await db
      .selectFrom('documents')
      .select(['key', 'body', 'owner'])
      .orderBy('key')
      .execute()
    expect(documents).toEqual([
      { key: '/Staff', body: '{}', owner: null },
      { key: "it's-a-role", body: '{}', owner: null },
      { key: 'web', body: '{"clientId":"web","name":"Wéb 🧑‍🚀"}', owner: 'estate' },
      { key: 'web/reader', body: '{"name":"reader"}', owner: 'estate' },
    ])
    const revision = await db
      .selectFrom('revisions')
      .innerJoin('revision_operations', (join) =>
        join
          .onRef('revision_operations.realm', '=', 'revisions.realm')
          .onRef('revision_operations.revision', '=', 'revisions.revision'),
      )
      .select(['message', 'op', 'after'])
      .execute()
    expect(revision).toHaveLength(1)
    expect(revision[0]).toMatchObject({ message: 'line one\nline two', op: 'update' })
    const user = await db
      .selectFrom('user_names')
      .innerJoin('users', 'users.id', 'user_names.user_id')
      .innerJoin('credentials', 'credentials.user_id', 'users.id')
      .innerJoin('sessions', 'sessions.user_id', 'users.id')
      .where('user_names.name', '=', 'ada@example.com')
      .select(['username', 'secret', 'user_agent', 'last_name', 'email_verified'])
      .executeTakeFirstOrThrow()
    expect({ ...user }).toEqual({
      username: 'Ada',
      secret: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/),
      user_agent: '',
      last_name: null,
      email_verified: 1,
    })
    const keys = await db.selectFrom('signing_keys').select('status').orderBy('status').execute()
    expect(keys).toEqual([{ status: 'ACTIVE' }, { status: 'PASSIVE' }])
    await usable(storage)

    await storage.close()
    await remove()
  })
})
