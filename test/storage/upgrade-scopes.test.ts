/** Realms that were born without the scopes `organization` and `account` have them after the next start. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ClientScope } from '#schemas/kinds/client-scope.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { faultsOf } from '../support/integrity.ts'
import { startServer, type TestServer } from '../support/server.ts'

const names = ['account', 'organization']
const kind = ClientScope.kind

/** As migration 0013 left the database: nothing but these scopes, of every realm, is younger. */
const forget = async ({ parts: { storage } }: TestServer): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  const scopes = ['documents', 'revision_operations'] as const
  await storage.commit([
    ...scopes.map((table) =>
      statement(db.deleteFrom(table).where('kind', '=', kind).where('key', 'in', names)),
    ),
    raw(sql`delete from schema_migrations where name >= '0014'`),
  ])
}

describe.each(backends)('a $name database of before the scopes', (backend) => {
  it('gets them as a new realm has them, in its first revision, and leaves those that somebody made', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    const acme = await earlier.createRealm('acme')
    const own = await earlier.createRealm('own')
    await forget(earlier)
    await earlier.admin.send('POST', `${acme}/roles`, { name: 'reader' })
    const made = await earlier.admin.send('POST', `${own}/client-scopes`, { name: 'organization' })
    expect(made.status).toBe(201)
    await earlier.close()

    const server = await startServer(backend, { url })
    const { admin, parts } = server
    await server.createRealm('fresh')
    const scopesOf = (realm: string) =>
      parts.storage.db
        .selectFrom('documents')
        .select(['key', 'origin', 'owner', 'protected', 'version', 'hash', 'body', 'sealed'])
        .where('realm', '=', realm)
        .where('kind', '=', kind)
        .orderBy('key')
        .execute()
    expect(await scopesOf('acme')).toEqual(await scopesOf('fresh'))
    expect(await scopesOf('own')).toHaveLength(7)
    const ownScope = await admin.send('GET', `${own}/client-scopes/organization`)
    expect(ownScope.body).toMatchObject({ id: made.body.id })

    const createdIn = (realm: string) =>
      parts.storage.db
        .selectFrom('revision_operations')
        .select(['revision', 'op', 'key', 'before', 'after'])
        .where('realm', '=', realm)
        .where('key', 'in', names)
        .orderBy('key')
        .execute()
    expect(await createdIn('acme')).toEqual(await createdIn('fresh'))

    const shown = await admin.send('GET', `${acme}/export`)
    expect(shown.body).toMatchObject({ revision: 2 })
    expect(shown.body).not.toHaveProperty('clientScopes')
    const back = await admin.send('POST', `${acme}/revisions/1/rollback`, {})
    expect(back).toMatchObject({ status: 200, body: { revision: 3 } })
    expect((await scopesOf('acme')).map(({ key }) => key)).toEqual(expect.arrayContaining(names))
    const changes = await parts.storage.db
      .selectFrom('changes')
      .select('key')
      .where('realm', '=', 'own')
      .where('kind', '=', kind)
      .orderBy('seq', 'desc')
      .executeTakeFirst()
    expect(changes).toEqual({ key: 'account' })
    // Numbers are missing in the first revision only because they were taken out of it above.
    const faults = await faultsOf(parts.storage)
    expect(faults.filter((fault) => !fault.includes('has operations'))).toEqual([])
    await server.close()
    await remove()
  })
})
