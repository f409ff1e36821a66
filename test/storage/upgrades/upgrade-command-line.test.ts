/** Realms created without the client of the command line have it after the next start. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { commandLineId } from '#schemas/access/command-line.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const doc = seedOf(Client, commandLineId)?.doc ?? {}

/** As the migration before left the database: nothing but this client, of every realm, is younger. */
const forget = async ({ areas: { storage } }: TestServer): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  const tables = ['documents', 'revision_operations'] as const
  await storage.commit([
    ...tables.map((table) =>
      statement(
        db.deleteFrom(table).where('kind', '=', Client.kind).where('key', '=', commandLineId),
      ),
    ),
    raw(sql`delete from schema_migrations where name = '0024-command-line'`),
  ])
}

describe.each(backends)('a $name database of before the command line', (backend) => {
  it('gets its client as a new realm has it, in the first revision, and leaves one that somebody made', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    await earlier.createRealm('own')
    await forget(earlier)
    // The current rules refuse such a client: it is as an earlier version left it.
    const { db: old } = earlier.areas.storage
    const body = { clientId: commandLineId, publicClient: true, tokenEndpointAuthMethod: 'none' }
    const made = {
      id: '01a1e792-4941-7561-9cc9-7140ccf9a278',
      realm: 'own',
      kind: Client.kind,
      key: commandLineId,
      parent_id: null,
      origin: 'manual' as const,
      owner: null,
      version: 1,
      hash: contentHash(body),
      body: JSON.stringify(body),
      sealed: null,
      created_at: 1,
      updated_at: 1,
      protected: 0,
    }
    await earlier.areas.storage.commit([statement(old.insertInto('documents').values(made))])
    await earlier.close()

    const server = await startServer(backend, { url })
    const { admin, areas } = server
    const { db } = areas.storage
    const clientOf = (realm: string) =>
      db
        .selectFrom('documents')
        .selectAll()
        .where('realm', '=', realm)
        .where('kind', '=', Client.kind)
        .where('key', '=', commandLineId)
        .executeTakeFirstOrThrow()
    const expected = {
      origin: 'built-in',
      owner: null,
      protected: 0,
      version: 1,
      hash: contentHash(doc),
      body: JSON.stringify(doc),
      sealed: null,
    }
    expect(await clientOf('master')).toMatchObject(expected)
    expect(await clientOf('own')).toMatchObject({ id: made.id, origin: 'manual' })
    const operation = await db
      .selectFrom('revision_operations')
      .select(['revision', 'op', 'before', 'after'])
      .where('realm', '=', 'master')
      .where('key', '=', commandLineId)
      .executeTakeFirstOrThrow()
    expect(operation).toMatchObject({ revision: 1, op: 'create', before: null })
    const kept = { key: commandLineId, parentId: null, origin: 'built-in', owner: null }
    expect(JSON.parse(operation.after ?? '')).toEqual({
      ...kept,
      protected: false,
      body: doc,
      secrets: {},
    })

    const master = '/admin/realms/master'
    await admin.send('POST', `${master}/roles`, { name: 'reader' })
    expect((await admin.send('GET', `${master}/export`)).body).not.toHaveProperty('clients')
    const back = await admin.send('POST', `${master}/revisions/1/rollback`, {})
    expect(back.status).toBe(200)
    expect(await clientOf('master')).toMatchObject(expected)
    // What was done to the rows by hand above is found; of master that is numbers of the first revision alone.
    const faults = await faultsOf(areas.storage)
    const ofOwn = (fault: string) => / of own\b/.test(fault)
    expect(faults.filter((fault) => !fault.includes('has operations') && !ofOwn(fault))).toEqual([])
    await server.close()
    await remove()
  })
})
