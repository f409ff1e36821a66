/** Realms created with a second factor without enrolled devices offer devices after the next start; changed flows stay. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const key = 'browser-second-factor'
const born = seedOf(Flow, key)?.doc ?? {}
const steps = (born['authenticationExecutions'] ?? []) as { readonly authenticator: string }[]
const old = {
  ...born,
  authenticationExecutions: steps.filter(({ authenticator }) => authenticator !== 'push'),
}
const kept = (body: object) =>
  JSON.stringify({
    key,
    parentId: null,
    origin: 'built-in',
    owner: null,
    protected: false,
    body,
    secrets: {},
  })

/** As migration 0016 left the database. */
const forget = async ({ areas: { storage } }: TestServer): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  await storage.commit([
    statement(
      db
        .updateTable('documents')
        .set({ body: JSON.stringify(old), hash: contentHash(old) })
        .where('key', '=', key),
    ),
    statement(
      db
        .updateTable('revision_operations')
        .set({ after: kept(old) })
        .where('key', '=', key),
    ),
    raw(sql`update realms set seq = seq + 1`),
    raw(
      sql`insert into changes (realm, seq, kind, key) select name, seq, 'flow', ${key} from realms`,
    ),
    raw(sql`delete from schema_migrations where name = '0017-second-factor'`),
  ])
}

describe.each(backends)('a $name database of before devices were offered', (backend) => {
  it('offers them in the flow that nobody changed, in its history too, and leaves a flow that somebody did', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    const own = await earlier.createRealm('own')
    await forget(earlier)
    const mine = {
      alias: key,
      topLevel: false,
      authenticationExecutions: [
        { authenticator: 'condition-user-has-factor' },
        { authenticator: 'totp', requirement: 'ALTERNATIVE' },
      ],
    }
    const changed = await earlier.admin.send('PUT', `${own}/flows/${key}`, mine)
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    await earlier.close()

    const server = await startServer(backend, { url })
    const { admin, areas } = server
    const bodyIn = async (realm: string) => {
      const row = await areas.storage.db
        .selectFrom('documents')
        .select(['body', 'hash', 'version'])
        .where('realm', '=', realm)
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
      return { ...row, body: JSON.parse(row.body) }
    }
    const expected = { body: born, hash: contentHash(born), version: 1 }
    expect(await bodyIn('master')).toEqual(expected)
    expect((await bodyIn('own')).body).toMatchObject(mine)
    const master = '/admin/realms/master'
    expect((await admin.send('GET', `${master}/export`)).body).not.toHaveProperty('flows')
    await admin.send('POST', `${master}/roles`, { name: 'reader' })
    const back = await admin.send('POST', `${master}/revisions/1/rollback`, {})
    expect(back.status, JSON.stringify(back.body)).toBe(200)
    expect(await bodyIn('master')).toEqual(expected)
    expect(await faultsOf(areas.storage)).toEqual([])
    await server.close()
    await remove()
  })
})
