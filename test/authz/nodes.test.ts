/** Several nodes: the limits of authorization services hold for requests that come to different nodes at the same moment. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('limits of authorization services on two nodes on $name', (backend) => {
  let one: TestServer
  let other: TestServer
  let clientId: string
  let resource: string
  let pat: string

  const post = (server: TestServer, path: string, body: unknown) =>
    server.anonymous.send('POST', `/realms/acme/authz/protection${path}`, body, {
      authorization: `Bearer ${pat}`,
    })

  beforeAll(async () => {
    one = await startServer(backend)
    const base = await one.createRealm('acme')
    const { body: client } = await one.admin.send('POST', `${base}/clients`, {
      clientId: 'api',
      grantTypes: ['client_credentials', 'uma-ticket'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    clientId = client.id
    const fields = {
      grant_type: 'client_credentials',
      client_id: 'api',
      client_secret: client.secret,
    }
    const { body: token } = await one.anonymous.send(
      'POST',
      '/realms/acme/token',
      new URLSearchParams(fields).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
    pat = token.access_token
    resource = (await post(one, '/resource_set', { name: 'album' })).body._id
    // A database file has one process.
    other = backend.name === 'sqlite' ? one : await startServer(backend, { url: one.url })
  })
  afterAll(async () => {
    if (other !== one) await other.close()
    await one.close()
  })

  it('are not passed by tickets', async () => {
    const { storage, authz } = one.areas
    const left = 5
    const stored = Array.from({ length: authz.limits.ticketsOfClient - left }, () => ({
      id: newId(),
      realm: 'acme',
      client_id: clientId,
      requester_id: null,
      permissions: '[]',
      expires_at: Date.now() + 300_000,
    }))
    await storage.commit(insertRows(storage.db, 'permission_tickets', stored))
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        post(n % 2 === 0 ? one : other, '/permission', { resource_id: resource }),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(left)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40 - left)
  })
})
