/** GET whoami: the identity of the caller, and the permissions of the caller in the realm of the request. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('whoami on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  it('tells an administrator of master that they may do everything everywhere', async () => {
    for (const path of ['/admin/realms/master/whoami', `${base}/whoami`]) {
      const { status, body } = await server.admin.send('GET', path)
      expect([status, body]).toEqual([
        200,
        {
          userId: server.admin.userId,
          username: 'admin',
          realm: 'master',
          permissions: permissionKeys,
          adminAccess: 'full',
        },
      ])
    }
  })

  it('tells what a permission includes, in the order of the catalogue', async () => {
    const client = await server.userWith('acme', ['manage-users', 'view-events'])
    const { status, body } = await client.send('GET', `${base}/whoami`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ userId: client.userId, realm: 'acme' })
    expect(body.permissions).toEqual(['view-users', 'manage-users', 'view-events'])
    expect((await client.send('GET', '/admin/realms/master/whoami')).status).toBe(401)
  })

  it('is for those who hold any permission at all', async () => {
    const client = await server.userWith('acme', [])
    expect((await client.send('GET', `${base}/whoami`)).status).toBe(403)
    expect((await server.anonymous.send('GET', `${base}/whoami`)).status).toBe(401)
  })
})
