/** Import of ten thousand users as JSON lines, with password hashes of other products; some of the users sign in. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { foreignHashes, foreignPassword } from '../../platform/passwords/foreign-hashes.ts'
import { TestBrowser } from '../../sign-in/fixture.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

describe.each(backends)('the import of lines on $name', (backend) => {
  let server: TestServer
  const realm = 'acme'
  beforeAll(async () => {
    server = await startServer(backend, { listen: true })
    await server.createRealm(realm)
  })
  afterAll(() => server.close())

  const importLines = async (lines: readonly string[], query = '') => {
    const { cookie, csrf } = server.admin
    const response = await fetch(`${server.baseUrl}/admin/realms/${realm}/users/import${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', cookie, 'x-xsrf-token': csrf },
      body: lines.join('\n'),
    })
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
    return { status: response.status, body: (await response.json()) as any }
  }
  const count = async (): Promise<number> => {
    const row = await server.areas.storage.db
      .selectFrom('users')
      .select((eb) => eb.fn.countAll<number>().as('all'))
      .where('realm', '=', realm)
      .executeTakeFirstOrThrow()
    return Number(row.all)
  }
  const secretOf = async (username: string): Promise<string> => {
    const row = await server.areas.storage.db
      .selectFrom('credentials')
      .innerJoin('users', 'users.id', 'credentials.user_id')
      .select('secret')
      .where('users.realm', '=', realm)
      .where('username_key', '=', username)
      .executeTakeFirstOrThrow()
    return row.secret
  }
  const signsIn = async (username: string, password: string): Promise<boolean> => {
    const answer = await new TestBrowser(server.baseUrl).signIn(realm, username, password)
    return answer.status === 303
  }

  it('names what is wrong by its line and brings in nobody', async () => {
    const answer = await importLines([
      '{"username":"fine"}',
      '',
      '{"username":"no json"',
      '{"username":"x","nickname":"y"}',
      '{"username":"z","credentials":[{"type":"password","value":"md5"}]}',
    ])
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual([
      '/line/3',
      '/line/4/nickname',
      '/line/5/credentials/0/value',
    ])
    const costly = `$2b$31$${'a'.repeat(53)}`
    const late = await importLines([
      '{"username":"fine"}',
      `{"username":"dear","credentials":[{"type":"password","value":"${costly}"}]}`,
    ])
    expect(late.body.errors).toMatchObject([{ field: '/line/2/credentials/0/value' }])
    const twice = await importLines(['{"username":"a"}', '{"username":"A"}'])
    expect(twice.status).toBe(409)
    expect(twice.body.errors).toMatchObject([{ field: '/line/2/username', code: 'duplicate' }])
    expect(await count()).toBe(0)
  })

  it('brings in ten thousand with mixed hashes, tried out before; whoever signs in gets our hash', async () => {
    const ours = await (await loadEngine()).hash(foreignPassword)
    const hashes = [ours, ...Object.values(foreignHashes)]
    const lines = Array.from({ length: 10_000 }, (_, index) =>
      JSON.stringify({
        username: `user-${index}`,
        email: `user-${index}@a.example`,
        credentials: [{ type: 'password', value: hashes[index % hashes.length] }],
      }),
    )
    const dry = await importLines(lines, '?dryRun=true')
    expect(dry.status, JSON.stringify(dry.body).slice(0, 300)).toBe(200)
    expect(dry.body).toMatchObject({ added: 10_000 })
    expect(await count()).toBe(0)
    const answer = await importLines(lines)
    expect(answer.body).toMatchObject({ added: 10_000, skipped: 0, overwritten: 0 })
    expect(await count()).toBe(10_000)
    for (const [index, hash] of hashes.entries()) {
      expect(await secretOf(`user-${index}`)).toBe(hash)
      expect(await signsIn(`user-${index}`, 'not the password')).toBe(false)
      expect(await secretOf(`user-${index}`)).toBe(hash)
      expect(await signsIn(`user-${index}`, foreignPassword)).toBe(true)
      const after = await secretOf(`user-${index}`)
      expect(after).toMatch(/^\$argon2id\$v=19\$/)
      expect(after === hash).toBe(index === 0)
    }
    expect(await signsIn('user-1', foreignPassword)).toBe(true)
    const again = await importLines(lines.slice(0, 3), '?ifResourceExists=SKIP')
    expect(again.body).toMatchObject({ added: 0, skipped: 3 })
  })
})
