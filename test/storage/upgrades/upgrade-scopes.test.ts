/** Realms created without the scopes `organization` and `account` have them after the next start. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ClientScope } from '#schemas/kinds/clients/client-scope.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const { kind } = ClientScope
const names = ['account', 'organization']
const born = seeds
  .filter((seed) => seed.kind === ClientScope && names.includes(seed.key))
  .sort((a, b) => (a.key < b.key ? -1 : 1))

/** As migration 0013 left the database: nothing but these scopes, of every realm, is younger. */
const forget = async ({ areas: { storage } }: TestServer): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  const tables = ['documents', 'revision_operations'] as const
  await storage.commit([
    ...tables.map((table) =>
      statement(db.deleteFrom(table).where('kind', '=', kind).where('key', 'in', names)),
    ),
    raw(sql`delete from schema_migrations where name = '0014-scopes'`),
  ])
}

describe.each(backends)('a $name database of before the scopes', (backend) => {
  it('gets them as a new realm has them, in its first revision, and leaves those that somebody made', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    const master = '/admin/realms/master'
    const own = await earlier.createRealm('own')
    await forget(earlier)
    await earlier.admin.send('POST', `${master}/roles`, { name: 'reader' })
    const made = await earlier.admin.send('POST', `${own}/client-scopes`, { name: 'organization' })
    expect(made.status).toBe(201)
    await earlier.close()

    const server = await startServer(backend, { url })
    const { admin, areas } = server
    const { db } = areas.storage
    const scopesOf = async (realm: string) => {
      const rows = await db
        .selectFrom('documents')
        .select(['key', 'origin', 'owner', 'protected', 'version', 'hash', 'body', 'sealed'])
        .where('realm', '=', realm)
        .where('kind', '=', kind)
        .where('key', 'in', names)
        .orderBy('key')
        .execute()
      return rows.map(({ body, ...row }) => ({ ...row, body: JSON.parse(body) }))
    }
    const expected = born.map(({ key, doc }) => ({
      key,
      origin: 'built-in',
      owner: null,
      protected: 0,
      version: 1,
      hash: contentHash(doc),
      body: doc,
      sealed: null,
    }))
    expect(await scopesOf('master')).toEqual(expected)
    expect(await scopesOf('own')).toMatchObject([{ origin: 'built-in' }, { origin: 'manual' }])
    const shown = await admin.send('GET', `${own}/client-scopes/organization`)
    expect(shown.body).toMatchObject({ id: made.body.id })

    const operations = await db
      .selectFrom('revision_operations')
      .select(['revision', 'op', 'key', 'before', 'after'])
      .where('realm', '=', 'master')
      .where('key', 'in', names)
      .orderBy('key')
      .execute()
    expect(operations.map((one) => ({ ...one, after: JSON.parse(one.after ?? '') }))).toEqual(
      born.map(({ key, doc }) => {
        const kept = { key, parentId: null, origin: 'built-in', owner: null, protected: false }
        const after = { ...kept, body: doc, secrets: {} }
        return { revision: 1, op: 'create', key, before: null, after }
      }),
    )
    const changes = await db
      .selectFrom('changes')
      .innerJoin('realms', 'realms.name', 'changes.realm')
      .select('key')
      .where('realm', '=', 'own')
      .whereRef('changes.seq', '=', 'realms.seq')
      .execute()
    expect(changes).toEqual([{ key: 'account' }])

    const whole = await admin.send('GET', `${master}/export`)
    expect(whole.body).toMatchObject({ revision: 2 })
    expect(whole.body).not.toHaveProperty('clientScopes')
    const back = await admin.send('POST', `${master}/revisions/1/rollback`, {})
    expect(back).toMatchObject({ status: 200, body: { revision: 3 } })
    expect(await scopesOf('master')).toEqual(expected)
    // Numbers are missing in the first revision only because they were taken out of it above.
    const faults = await faultsOf(areas.storage)
    expect(faults.filter((fault) => !fault.includes('has operations'))).toEqual([])
    await server.close()
    await remove()
  })
})
