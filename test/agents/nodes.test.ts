/** Several nodes: what one of them does to an agent counts on the others at the next request. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import type { OidcSite } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant, openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { accessType, grantType } from './fixture.ts'

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

describe.each(backends)('an agent that a rule suspends, on two nodes on $name', (backend) => {
  let now = Date.now()
  const clock = { now: () => now }
  let one: TestServer
  let other: TestServer
  let base: string

  beforeAll(async () => {
    one = await startServer(backend, { clock })
    base = await one.createRealm('acme')
    other = backend.name === 'sqlite' ? one : await startServer(backend, { url: one.url, clock })
  })
  afterAll(async () => {
    if (other !== one) await other.close()
    await one.close()
  })

  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await one.admin.send(method, `${base}${path}`, body)
    expect([method, path, answer.status]).toEqual([method, path, expect.toSatisfy((n) => n < 300)])
    return answer.body
  }

  /** An agent that its rule does not suspend yet, its own token, and one for alice. */
  const open = async (name: string, rules: object) => {
    const site = { server: one } as OidcSite
    const user = await addUser(site, { username: `user-of-${name}` })
    const { secret } = await admin('POST', '/clients', {
      clientId: name,
      grantTypes: ['client_credentials', 'token-exchange'],
      serviceAccountsEnabled: true,
      audiences: [`${one.baseUrl}/admin`, name, `app-of-${name}`],
    })
    const app = await admin('POST', '/clients', { clientId: `app-of-${name}`, audiences: [name] })
    const agent = await admin('POST', '/agents', {
      name,
      clientId: name,
      allowedDelegation: true,
      ...rules,
    })
    await admin('POST', `/agents/${agent.id}/activate`)
    const form = (server: TestServer, path: string, fields: Record<string, string>) =>
      server.anonymous.send(
        'POST',
        `/realms/acme${path}`,
        new URLSearchParams({ client_id: name, client_secret: secret, ...fields }).toString(),
        { 'content-type': 'application/x-www-form-urlencoded' },
      )
    const { session } = await openSession(site, user)
    const { grant } = await issueGrant(site, { ...app, secret: '' }, user, { sid: session.sid })
    const subject = await accessTokenOf(site, { ...app, secret: '' }, user, grant)
    const delegate = (server: TestServer) =>
      form(server, '/agent/delegation/token', {
        grant_type: grantType,
        subject_token: subject,
        subject_token_type: accessType,
      })
    const own = await form(other, '/token', { grant_type: 'client_credentials' })
    const delegated = await delegate(other)
    expect([own.status, delegated.status]).toEqual([200, 200])
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    const [ofAgent, ofUser] = [own.body.access_token, delegated.body.access_token]
    const get = async (server: TestServer, path: string, token: string) =>
      (await server.anonymous.send('GET', path, undefined, bearer(token))).status
    /** Asked by the application, which is no agent. */
    const isActive = async (server: TestServer, token: string) =>
      (
        await form(server, '/introspect', {
          client_id: app.clientId,
          client_secret: app.secret,
          token,
        })
      ).body.active
    /** At every door of both nodes. */
    const doors = async () => {
      const told: unknown[] = []
      for (const server of [one, other])
        told.push({
          introspection: [await isActive(server, ofAgent), await isActive(server, ofUser)],
          userinfo: await get(server, '/realms/acme/userinfo', ofUser),
          admin: await get(server, `${base}/clients`, ofAgent),
          delegation: (await delegate(server)).body.error ?? 'issued',
        })
      return told
    }
    return { agent, user, doors }
  }

  const openDoors = { introspection: [true, true], userinfo: 200, admin: 403, delegation: 'issued' }
  const closed = {
    introspection: [false, false],
    userinfo: 401,
    admin: 401,
    delegation: 'unauthorized_client',
  }
  const minute = 60_000

  it('is refused everywhere from its expiry on', async () => {
    const { doors } = await open('expiring', { expiresAt: now + minute })
    expect(await doors()).toEqual([openDoors, openDoors])
    now += minute
    expect(await doors()).toEqual([closed, closed])
  })

  it('is refused everywhere while its owner is disabled', async () => {
    const owner = await addUser({ server: one } as OidcSite, { username: 'owner' })
    const { doors } = await open('owned', { owner: 'owner' })
    expect(await doors()).toEqual([openDoors, openDoors])
    await admin('PUT', `/users/${owner.id}`, { username: 'owner', enabled: false })
    expect(await doors()).toEqual([closed, closed])
  })

  it('is refused everywhere while its review is overdue', async () => {
    const { agent, doors } = await open('reviewed', { reviewEvery: '10d' })
    const { storage } = one.areas
    const due = storage.db
      .updateTable('agent_states')
      .set({ next_review_at: now + minute })
      .where('agent_id', '=', agent.id)
    await storage.commit([statement(due)])
    expect(await doors()).toEqual([openDoors, openDoors])
    now += minute
    expect(await doors()).toEqual([closed, closed])
  })
})
