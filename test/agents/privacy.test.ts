/** Agents and the rights of a data subject, and what the deletion of an agent leaves of its client. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { dumpDatabase } from '../support/database/database-dump.ts'
import { type AgentSite, openAgentSite, type TestAgent } from './fixture.ts'

describe.each(backends)('the owner of an agent on $name', (backend) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld(backend)
  })
  afterAll(() => world.close())

  it('finds the agent in the export, and is named nowhere after an erasure, under no former name', async () => {
    const userId = await world.addUser('wilhelmina-once')
    const agent = await world.must('POST', '/agents', {
      name: 'helper',
      owner: 'Wilhelmina-Once',
      reviewEvery: '30d',
    })
    await world.must('PUT', `/agents/${agent.id}`, { ...agent, description: 'helps' })
    await world.must('POST', '/agents', { name: 'other' })
    const client = await world.must('POST', '/clients', {
      clientId: 'photos',
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    await world.must('POST', `/clients/${client.id}/authz/resources`, {
      name: 'album',
      owner: 'wilhelmina-once',
    })
    const policies = `/clients/${client.id}/authz/policies`
    const people = { name: 'people', type: 'user', users: ['Wilhelmina-Once', 'other-one'] }
    const policy = await world.must('POST', policies, people)
    const user = await world.must('GET', `/users/${userId}`)
    await world.must('PUT', `/users/${userId}`, { ...user, username: 'wilhelmina-now' })
    const { consents } = await world.must('GET', `/users/${userId}/gdpr/export`)
    expect(consents).toContainEqual({
      role: 'owner',
      agentId: agent.id,
      name: 'helper',
      status: 'PENDING',
      lastReviewedDate: null,
    })
    expect(JSON.stringify(consents)).not.toContain('other')
    await world.must('PUT', `/users/${userId}`, { ...user, username: 'wilhelmina-once' })
    const { storage } = world.server.areas
    expect((await dumpDatabase(storage)).toLowerCase()).toContain('wilhelmina')
    await world.must('DELETE', `/users/${userId}/gdpr`)
    expect((await dumpDatabase(storage)).toLowerCase()).not.toContain('wilhelmina')
    const { users } = await world.must('GET', `${policies}/${policy.id}`)
    expect(users.toSorted()).toEqual([userId, 'other-one'].toSorted())
    // The document stands, is written as before, and its owner is nobody.
    const left = await world.must('GET', `/agents/${agent.id}`)
    expect(left).toMatchObject({ name: 'helper', description: 'helps', ownerUserId: userId })
    expect(left.owner).toBeNull()
    await world.must('PUT', `/agents/${agent.id}`, { name: 'helper', description: 'goes on' })
    const { revision } = await world.must('GET', '/export')
    await world.must('POST', `/revisions/${revision}/rollback`, { message: 'back' })
    expect((await dumpDatabase(storage)).toLowerCase()).not.toContain('wilhelmina')
  })
})

describe.each(backends)('the client of a deleted agent on $name', (backend) => {
  let site: AgentSite
  beforeAll(async () => {
    site = await openAgentSite(backend)
  })
  afterAll(() => site.close())

  const base = '/admin/realms/acme'
  const send = async (method: string, path: string, body?: unknown) =>
    (await site.server.signedIn('master', 'admin')).send(method, `${base}${path}`, body)
  const tokenOf = ({ clientId, secret }: TestAgent) =>
    site.post('/token', {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: secret,
    })

  it.each(['suspend', 'revoke'])('gets no token after %s and deletion', async (name) => {
    const agent = await site.agent(`of-${name}`)
    expect(await site.move(agent, name)).toBe(200)
    const refused = await send('DELETE', `/agents/${agent.agentId}`)
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toContain(`its client "of-${name}" would get tokens again`)
    const doc = (await site.admin('GET', `/agents/${agent.agentId}`)).body
    const rebound = await send('PUT', `/agents/${agent.agentId}`, { ...doc, clientId: 'app' })
    expect(rebound.status).toBe(409)
    expect((await tokenOf(agent)).status).toBe(400)
    const client = (await site.admin('GET', `/clients/${agent.id}`)).body
    await site.admin('PUT', `/clients/${agent.id}`, { ...client, enabled: false })
    expect((await send('DELETE', `/agents/${agent.agentId}`)).status).toBe(204)
    expect((await tokenOf(agent)).status).toBe(401)
  })

  it('is the same for an agent that a rule suspends, and a change of both goes through', async () => {
    const agent = await site.agent('expiring', { expiresAt: site.now() + 60_000 })
    site.pass(60_000)
    expect((await send('DELETE', `/agents/${agent.agentId}`)).status).toBe(409)
    const { revision } = (await site.admin('GET', '/export')).body
    const both = (dryRun: boolean, clients: boolean) =>
      send('POST', '/changesets', {
        dryRun,
        baseRevision: revision,
        source: 'git',
        message: 'retire it',
        operations: [
          { op: 'delete', kind: 'agent', key: 'expiring' },
          ...(clients ? [{ op: 'delete', kind: 'client', key: 'expiring' }] : []),
        ],
      })
    // A plan asks the server for a dry run: it tells the same.
    const planned = await both(true, false)
    expect([planned.status, JSON.stringify(planned.body)]).toEqual([
      409,
      expect.stringContaining('would get tokens again'),
    ])
    expect((await both(false, true)).status).toBe(200)
    expect((await tokenOf(agent)).status).toBe(401)
  })

  it('is an ordinary client after the deletion of an active agent', async () => {
    const agent = await site.agent('retired')
    expect((await send('DELETE', `/agents/${agent.agentId}`)).status).toBe(204)
    expect((await tokenOf(agent)).status).toBe(200)
  })
})
