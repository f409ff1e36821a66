/**
 * Realms created without passkeys on the first page offer them after the next start. A realm with a changed sign-in flow
 * or second factor keeps its flow.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { contentHash } from '#schemas/normalize.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { faultsOf } from '../support/database/integrity.ts'
import { startServer, type TestServer } from '../support/server.ts'

const added = 'browser-by-password'
const seed = (key: string) => seedOf(Flow, key)?.doc ?? {}
const old = {
  alias: 'browser',
  description: 'Sign-in in a browser.',
  authenticationExecutions: seed(added)['authenticationExecutions'],
}
const kept = (key: string, body: object) =>
  JSON.stringify({
    key,
    parentId: null,
    origin: 'built-in',
    owner: null,
    protected: false,
    body,
    secrets: {},
  })

/** As migration 0027 left the database. */
const forget = async ({ areas: { storage } }: TestServer): Promise<void> => {
  const { db } = storage
  const raw = (query: ReturnType<typeof sql>) => statement({ compile: () => query.compile(db) })
  const ids = sql`(select id from documents where kind = 'flow' and key = 'browser')`
  await storage.commit([
    raw(sql`delete from document_refs where from_id in ${ids}`),
    raw(sql`insert into document_refs (from_id, path, to_id)
      select browser.id, refs.path, refs.to_id from documents as browser
      join documents as part on part.realm = browser.realm and part.key = ${added}
      join document_refs as refs on refs.from_id = part.id
      where browser.kind = 'flow' and browser.key = 'browser'`),
    statement(db.deleteFrom('documents').where('key', '=', added)),
    statement(db.deleteFrom('revision_operations').where('key', '=', added)),
    statement(
      db
        .updateTable('documents')
        .set({ body: JSON.stringify(old), hash: contentHash(old) })
        .where('kind', '=', 'flow')
        .where('key', '=', 'browser'),
    ),
    statement(
      db
        .updateTable('revision_operations')
        .set({ after: kept('browser', old) })
        .where('kind', '=', 'flow')
        .where('key', '=', 'browser'),
    ),
    raw(sql`update realms set seq = seq + 1`),
    raw(
      sql`insert into changes (realm, seq, kind, key) select name, seq, 'flow', 'browser' from realms`,
    ),
    raw(sql`delete from schema_migrations where name = '0028-passkeys'`),
  ])
}

const strict = {
  alias: 'browser-second-factor',
  topLevel: false,
  authenticationExecutions: [{ authenticator: 'totp' }],
}
const own = { alias: 'browser', authenticationExecutions: [{ authenticator: 'username-password' }] }

describe.each(backends)('a $name database of before passkeys were offered', (backend) => {
  it('offers them where nobody decided on the sign-in, in history too, and nowhere else', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    const paths = {
      own: await earlier.createRealm('own'),
      strict: await earlier.createRealm('strict'),
      taken: await earlier.createRealm('taken'),
    }
    await forget(earlier)
    const put = async (path: string, body: object) => {
      const answer = await earlier.admin.send('PUT', path, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    await put(`${paths.own}/flows/browser`, own)
    await put(`${paths.strict}/flows/browser-second-factor`, strict)
    const { storage: before } = earlier.areas
    // The current rules refuse such a flow: it is as an earlier version left it.
    const theirs = { alias: added, authenticationExecutions: [{ authenticator: 'identify' }] }
    await before.commit([
      statement(
        before.db.insertInto('documents').values({
          id: '01a1e792-4941-7561-9cc9-7140ccf9a278',
          realm: 'taken',
          kind: Flow.kind,
          key: added,
          parent_id: null,
          origin: 'manual',
          owner: null,
          version: 1,
          hash: contentHash(theirs),
          body: JSON.stringify(theirs),
          sealed: null,
          created_at: 1,
          updated_at: 1,
          protected: 0,
        }),
      ),
    ])
    await earlier.close()

    const server = await startServer(backend, { url, listen: true, host: 'localhost' })
    const { admin, areas } = server
    const flowOf = async (realm: string, key: string) => {
      const row = await areas.storage.db
        .selectFrom('documents')
        .select(['body', 'hash', 'version', 'origin'])
        .where('realm', '=', realm)
        .where('kind', '=', Flow.kind)
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
      return { ...row, body: JSON.parse(row.body) }
    }
    const born = (key: string) => ({
      body: seed(key),
      hash: contentHash(seed(key)),
      version: 1,
      origin: 'built-in',
    })
    // As the migration leaves it; realms that are created now also offer identity providers.
    const browser = {
      ...seed('browser'),
      description: 'Sign-in in a browser: by a password, or by a passkey that verifies its user.',
      authenticationExecutions: (seed('browser')['authenticationExecutions'] as object[]).slice(
        0,
        2,
      ),
    }
    const offered = async () => {
      expect(await flowOf('master', 'browser')).toEqual({
        ...born('browser'),
        body: browser,
        hash: contentHash(browser),
      })
      expect(await flowOf('master', added)).toEqual(born(added))
    }
    await offered()
    expect((await flowOf('own', 'browser')).body).toMatchObject(own)
    expect(await flowOf('own', added)).toEqual(born(added))
    expect((await flowOf('strict', 'browser')).body).toEqual(old)
    expect((await flowOf('strict', 'browser-second-factor')).body).toMatchObject(strict)
    expect((await flowOf('taken', 'browser')).body).toEqual(old)
    expect((await flowOf('taken', added)).body).toEqual(theirs)

    const page = async (realm: string): Promise<string> =>
      (await server.app.inject(`/realms/${realm}/login`)).body
    expect(await page('master')).toContain('data-webauthn="get"')
    for (const realm of Object.keys(paths))
      expect(await page(realm), realm).not.toContain('data-webauthn')

    const master = '/admin/realms/master'
    expect((await admin.send('GET', `${master}/export`)).body.flows).toEqual([browser])
    await admin.send('POST', `${master}/roles`, { name: 'reader' })
    const back = await admin.send('POST', `${master}/revisions/1/rollback`, {})
    expect(back.status, JSON.stringify(back.body)).toBe(200)
    await offered()
    // What was done to the rows by hand above is found; of others that is numbers of the first revision alone.
    const faults = await faultsOf(areas.storage)
    const isByHand = (fault: string) =>
      fault.includes('has operations') || / of taken\b/.test(fault)
    expect(faults.filter((fault) => !isByHand(fault))).toEqual([])
    await server.close()
    await remove()
  })
})
