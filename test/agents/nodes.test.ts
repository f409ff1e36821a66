/** Several nodes: what one of them does to an agent counts on the others at the next request. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('agents on two nodes on $name', (backend) => {
  let one: TestServer
  let other: TestServer
  let base: string
  let agentId: string
  let secret: string

  beforeAll(async () => {
    one = await startServer(backend)
    base = await one.createRealm('acme')
    const client = await one.admin.send('POST', `${base}/clients`, {
      clientId: 'bot',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
      audiences: [`${one.baseUrl}/admin`, 'bot'],
    })
    secret = client.body.secret
    const agent = await one.admin.send('POST', `${base}/agents`, { name: 'bot', clientId: 'bot' })
    agentId = agent.body.id
    // A database file has one process.
    other = backend.name === 'sqlite' ? one : await startServer(backend, { url: one.url })
  })
  afterAll(async () => {
    if (other !== one) await other.close()
    await one.close()
  })

  const form = (server: TestServer, path: string, fields: Record<string, string>) =>
    server.anonymous.send(
      'POST',
      `/realms/acme${path}`,
      new URLSearchParams({ client_id: 'bot', client_secret: secret, ...fields }).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
  const move = (server: TestServer, name: string) =>
    server.admin.send('POST', `${base}/agents/${agentId}/${name}`)

  it('a suspension on one node ends tokens on the other, at the admin API and the issuer', async () => {
    const token = async (server: TestServer) =>
      form(server, '/token', { grant_type: 'client_credentials' })
    expect((await token(other)).status).toBe(400)
    expect((await move(one, 'activate')).status).toBe(200)
    const { status, body } = await token(other)
    expect(status).toBe(200)
    const bearer = { authorization: `Bearer ${body.access_token}` }
    const atAdmin = async (server: TestServer) =>
      (await server.anonymous.send('GET', `${base}/clients`, undefined, bearer)).status
    // Known, and without the permission.
    expect([await atAdmin(one), await atAdmin(other)]).toEqual([403, 403])
    expect((await form(other, '/introspect', { token: body.access_token })).body.active).toBe(true)
    expect((await move(one, 'suspend')).status).toBe(200)
    expect([await atAdmin(one), await atAdmin(other)]).toEqual([401, 401])
    expect((await token(other)).body.error).toBe('unauthorized_client')
    expect((await move(other, 'suspend')).status).toBe(409)
  })
})
