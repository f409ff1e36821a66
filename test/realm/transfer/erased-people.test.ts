/** A declared user who was erased does not come back because a file still names them (GDPR article 17). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { senderTo, user } from '../changesets/changeset.ts'

describe.each(backends)('erased people on $name', (backend) => {
  let server: TestServer
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    await server.createRealm('other')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const apply = (...operations: Parameters<ReturnType<typeof senderTo>['apply']>) =>
    senderTo(server, 'acme').apply(...operations)
  /** Declares a user and erases them; returns the answer to the erasure. */
  const erased = async () => {
    const username = `Zoe-${newId()}`
    const email = `${username}@example.org`
    expect((await apply([user(username, { email })])).status).toBeLessThan(300)
    const { userId } = (await send('GET', `/users/${username}`)).body
    return { username, email, userId, answer: await send('DELETE', `/users/${userId}/gdpr`) }
  }

  it('are still declared, and the answer says so', async () => {
    const { answer, userId } = await erased()
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ userId, warnings: [expect.stringContaining('files')] })
    const { body } = await send('POST', '/users', { username: `plain-${newId()}` })
    expect((await send('DELETE', `/users/${body.userId}/gdpr`)).status).toBe(204)
  })

  it('are refused in a plan, an apply and an import, by name in any case and by address', async () => {
    const { username, email } = await erased()
    const same = user(username)
    const others = [user(username.toLowerCase()), user(`new-${newId()}`, { email })]
    for (const operation of [same, ...others])
      for (const dryRun of [true, false]) {
        const { status, body } = await apply([operation], { dryRun })
        expect([status, body.errors[0]]).toEqual([
          409,
          { field: '/operations/0/doc/username', code: 'erased', message: expect.anything() },
        ])
        for (const part of [operation.key, 'was erased on', 'remove the document', 'POST'])
          expect(body.detail).toContain(part)
      }
    const document = { formatVersion: 1, users: [{ username }] }
    const brought = await send('POST', '/import', document)
    expect([brought.status, brought.body.errors[0].field]).toEqual([409, '/users/0/username'])
    expect((await send('GET', `/users/${username}`)).status).toBe(404)
    // Another realm knows nothing of it.
    expect((await senderTo(server, 'other').apply([same])).status).toBeLessThan(300)
  })

  it('may come back deliberately: a user who is made over REST can be declared', async () => {
    const { username } = await erased()
    expect((await send('POST', '/users', { username })).status).toBe(201)
    expect((await apply([user(username)])).status).toBeLessThan(300)
    expect((await send('GET', `/users/${username}`)).body.managed).toBe(true)
  })

  it('leave a keyed hash and a time, and nothing else', async () => {
    const { username, email } = await erased()
    const rows = await server.areas.storage.db.selectFrom('erased_people').selectAll().execute()
    expect(rows.length).toBeGreaterThan(1)
    for (const row of rows) expect(row.name).toMatch(/^[\w-]{43}$/)
    expect(JSON.stringify(rows).toLowerCase()).not.toContain(username.toLowerCase())
    expect(JSON.stringify(rows).toLowerCase()).not.toContain(email.toLowerCase())
  })
})
