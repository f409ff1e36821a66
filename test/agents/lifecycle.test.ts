/** The lifecycle of agents, and that the client of an agent has tokens only while the agent is ACTIVE. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { addUser, issuerOf } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, openAgentSite } from './fixture.ts'

/** The moves of the lifecycle, as its users know them. */
const model: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  PENDING: { activate: 'ACTIVE', revoke: 'REVOKED' },
  ACTIVE: { suspend: 'SUSPENDED', revoke: 'REVOKED' },
  SUSPENDED: { activate: 'ACTIVE', revoke: 'REVOKED' },
  REVOKED: {},
}

describe.each(backends)('agents on $name', (backend) => {
  let site: AgentSite
  beforeAll(async () => {
    site = await openAgentSite(backend)
  })
  afterAll(() => site.close())

  const tokenOf = ({ clientId, secret }: { clientId: string; secret: string }, more = {}) =>
    site.post('/token', {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: secret,
      ...more,
    })

  it('makes the moves of the lifecycle and no other, and issues tokens while ACTIVE alone', async () => {
    let count = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('activate', 'suspend', 'revoke'), { maxLength: 6 }),
        async (names) => {
          count += 1
          const agent = await site.agent(`moved-${count}`, {}, {}, 'PENDING')
          let state = 'PENDING'
          for (const name of names) {
            const next = model[state]?.[name]
            expect([state, name, await site.move(agent, name)]).toEqual([
              state,
              name,
              next === undefined ? 409 : 200,
            ])
            state = next ?? state
            expect(await site.statusOf(agent)).toBe(state)
            expect((await tokenOf(agent)).status).toBe(state === 'ACTIVE' ? 200 : 400)
          }
        },
      ),
      { numRuns: 12 },
    )
  })

  it('of two moves at once makes one', async () => {
    const agent = await site.agent('twice', {}, {}, 'PENDING')
    const moves = await Promise.all(Array.from({ length: 6 }, () => site.move(agent, 'activate')))
    expect(moves.filter((status) => status === 200)).toHaveLength(1)
    expect(moves.filter((status) => status === 409)).toHaveLength(5)
  })

  it('names the state, and tells an inactive agent only after it has proven its secret', async () => {
    const agent = await site.agent('idle', {}, {}, 'PENDING')
    const { body } = await tokenOf(agent)
    expect(body).toEqual({
      error: 'unauthorized_client',
      error_description: 'the agent of this client is PENDING, not ACTIVE',
    })
    const wrong = await tokenOf({ ...agent, secret: 'no' })
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client'])
    const [event] = await site.events('CLIENT_LOGIN')
    expect(event).toMatchObject({ outcome: 'FAILURE', actor: agent.id })
  })

  it('marks every token of an agent, which no mapper can take away', async () => {
    const agent = await site.agent('marked')
    const token = (await tokenOf(agent)).body.access_token
    expect(claimsOf(token)).toMatchObject({ nhi: true, sub: agent.id })
    expect(claimsOf(await site.token(site.app))).not.toHaveProperty('nhi')
    expect((await site.admin('GET', `/agents/${agent.agentId}`)).body.lastUsedAt).toBe(site.now())
  })

  it('gives an agent the scopes of its list at most', async () => {
    const agent = await site.agent('narrow', {}, { defaultScopes: ['invoices', 'profile'] })
    expect((await tokenOf(agent)).body.scope).toBe('profile')
    expect((await tokenOf(agent, { scope: 'orders' })).body.scope).toBe('orders profile')
    const { status, body } = await tokenOf(agent, { scope: 'invoices' })
    expect([status, body.error]).toEqual([400, 'invalid_scope'])
  })

  it('refuses the old token of a suspended agent at the next request, for good', async () => {
    const agent = await site.agent('stopped')
    const token = (await tokenOf(agent)).body.access_token
    expect(await site.isActive(token, agent)).toBe(true)
    site.pass(1000)
    expect(await site.move(agent, 'suspend')).toBe(200)
    const { verifier } = site.server.areas.tokens
    expect(await verifier.accessToken(await issuerOf(site), token)).toBeUndefined()
    site.pass(1000)
    expect(await site.move(agent, 'activate')).toBe(200)
    expect(await site.isActive(token, agent)).toBe(false)
    expect(await site.isActive((await tokenOf(agent)).body.access_token, agent)).toBe(true)
  })

  it('suspends by rules while they hold: expiry, and an owner who is disabled or deleted', async () => {
    const bob = await addUser(site, { username: 'bob' })
    const owned = await site.agent('owned', { owner: 'bob' })
    expect((await site.admin('GET', `/agents/${owned.agentId}`)).body).toMatchObject({
      owner: 'bob',
      ownerUserId: bob.id,
    })
    const token = (await tokenOf(owned)).body.access_token
    expect(await site.isActive(token, site.app)).toBe(false)
    await site.admin('PUT', `/users/${bob.id}`, { username: 'bob', enabled: false })
    expect(await site.statusOf(owned)).toBe('SUSPENDED')
    expect((await tokenOf(owned)).body.error).toBe('unauthorized_client')
    expect(await site.move(owned, 'activate')).toBe(409)
    await site.admin('PUT', `/users/${bob.id}`, { username: 'bob', enabled: true })
    expect(await site.statusOf(owned)).toBe('ACTIVE')
    await site.admin('DELETE', `/users/${bob.id}`)
    expect(await site.statusOf(owned)).toBe('SUSPENDED')

    const brief = await site.agent('brief', { expiresAt: site.now() + 60_000 })
    expect((await tokenOf(brief)).status).toBe(200)
    site.pass(60_000)
    expect(await site.statusOf(brief)).toBe('SUSPENDED')
    expect((await tokenOf(brief)).body.error).toBe('unauthorized_client')
  })

  it('keeps its owner when the user is renamed, and refuses one who does not exist', async () => {
    const carol = await addUser(site, { username: 'carol' })
    const agent = await site.agent('of-carol', { owner: 'Carol' })
    await site.admin('PUT', `/users/${carol.id}`, { username: 'caroline' })
    const { body } = await site.admin('GET', `/agents/${agent.agentId}`)
    expect(body).toMatchObject({ owner: 'caroline', ownerUserId: carol.id, status: 'ACTIVE' })
    // What was read can be written back.
    await site.admin('PUT', `/agents/${agent.agentId}`, { ...body, description: 'still hers' })
    await expect(site.admin('POST', '/agents', { name: 'x', owner: 'nobody' })).rejects.toThrow(
      /there is no user/,
    )
    await expect(
      site.admin('PUT', `/agents/${agent.agentId}`, { ...body, owner: 'alice' }),
    ).resolves.toMatchObject({ body: { owner: 'alice', ownerUserId: site.alice.id } })
    await expect(
      site.admin('POST', '/agents', { name: 'y', owner: 'alice', ownerUserId: carol.id }),
    ).rejects.toThrow(/names another user/)
  })

  it('is one agent a client at most', async () => {
    await site.agent('single')
    await expect(
      site.admin('POST', '/agents', { name: 'second', clientId: 'single' }),
    ).rejects.toThrow(/a client of its own/)
  })

  it('must be confirmed by its owner in time', async () => {
    const agent = await site.agent('reviewed', { owner: 'alice', reviewEvery: '30d' })
    const due = site.now() + 30 * 86_400_000
    const queue = async () =>
      (await site.admin('GET', '/agents/owner-review')).body.filter(
        ({ name }: { name: string }) => name === 'reviewed',
      )
    expect(await queue()).toEqual([
      {
        agentId: agent.agentId,
        name: 'reviewed',
        owner: 'alice',
        ownerUserId: site.alice.id,
        dueAt: due,
        overdue: false,
      },
    ])
    site.pass(30 * 86_400_000)
    expect(await queue()).toMatchObject([{ overdue: true }])
    expect(await site.statusOf(agent)).toBe('SUSPENDED')
    expect((await tokenOf(agent)).body.error).toBe('unauthorized_client')
    expect(await site.move(agent, 'attest')).toBe(200)
    expect(await site.statusOf(agent)).toBe('ACTIVE')
    expect(await queue()).toMatchObject([{ overdue: false, dueAt: site.now() + 30 * 86_400_000 }])
    expect((await site.events('AGENT_ATTESTED'))[0]).toMatchObject({ outcome: 'SUCCESS' })
  })
})
