import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const path = '/admin/metrics/summary'

describe.each(backends)('the metrics summary on $name', (backend) => {
  let server: TestServer
  let base: string

  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  it('counts what there is in all realms', async () => {
    const before = (await server.admin.send('GET', path)).body
    await server.admin.send('POST', '/admin/realms', { realm: 'other' })
    await server.admin.send('POST', `${base}/users`, { username: 'alice' })
    await server.admin.send('POST', `${base}/clients`, { clientId: 'web' })
    const after = (await server.admin.send('GET', path)).body
    expect(after).toMatchObject({
      realms: before.realms + 1,
      users: before.users + 1,
      clients: before.clients + 1,
      adminWrites: { success: before.adminWrites.success + 3, denied: before.adminWrites.denied },
    })
  })

  it('counts sessions that have not ended, and denied writes', async () => {
    const before = (await server.admin.send('GET', path)).body
    const alice = await server.signedIn('acme', 'alice')
    expect((await alice.send('POST', `${base}/roles`, { name: 'x' })).status).toBe(403)
    const after = (await server.admin.send('GET', path)).body
    expect(after.activeSessions).toBe(before.activeSessions + 1)
    expect(after.adminWrites.denied).toBe(before.adminWrites.denied + 1)
  })

  it('has exactly its documented members', async () => {
    const { body } = await server.admin.send('GET', path)
    expect(Object.keys(body)).toEqual([
      'generatedAt',
      'realms',
      'users',
      'clients',
      'activeSessions',
      'logins',
      'tokensIssued',
      'mfaChallenges',
      'adminWrites',
    ])
    expect(body.logins).toEqual({ success: 0, failure: 0 })
  })

  it('takes view-events in the master realm, and no session of another realm', async () => {
    const viewer = await server.userWith('master', ['view-events'])
    const other = await server.userWith('master', ['manage-users'])
    const local = await server.userWith('acme', ['realm-admin'])
    expect((await viewer.send('GET', path)).status).toBe(200)
    expect((await other.send('GET', path)).status).toBe(403)
    expect((await local.send('GET', path)).status).toBe(401)
    expect((await server.anonymous.send('GET', path)).status).toBe(401)
  })
})
