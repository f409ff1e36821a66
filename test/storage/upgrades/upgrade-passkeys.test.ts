/**
 * Realms created without passkeys on the first page offer them after the next start. A realm with a changed sign-in flow
 * or second factor keeps its flow.
 */
import { describe, expect, it } from 'vitest'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { contentHash } from '#schemas/normalize.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { startServer } from '../../support/server.ts'
import { beforeProviders, type Former, flowSeed, restoreFlows } from './former-flows.ts'

const added = 'browser-by-password'
const old = {
  alias: 'browser',
  description: 'Sign-in in a browser.',
  authenticationExecutions: flowSeed(added).authenticationExecutions,
}
/** As migration 0027 left the database. */
const former: Former = {
  removed: [...beforeProviders.removed, added],
  changed: [old, ...beforeProviders.changed.slice(1)],
  migrations: ['0028-passkeys', ...beforeProviders.migrations],
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
    await restoreFlows(earlier, former)
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
      body: flowSeed(key),
      hash: contentHash({ ...flowSeed(key) }),
      version: 1,
      origin: 'built-in',
    })
    const offered = async () => {
      for (const key of ['browser', added]) expect(await flowOf('master', key)).toEqual(born(key))
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
    expect((await admin.send('GET', `${master}/export`)).body).not.toHaveProperty('flows')
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
