/** The round: suspensions by rules are in the audit trail once, and owners are reminded of a review by mail. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addUser } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, openAgentSite } from './fixture.ts'

const day = 86_400_000

describe.each(backends)('the round of agents on $name', (backend) => {
  let site: AgentSite
  beforeAll(async () => {
    site = await openAgentSite(backend)
  })
  afterAll(() => site.close())

  const round = () => site.server.areas.agents.round(new AbortController().signal)
  const suspensions = async (id: string) =>
    (await site.admin('GET', '/events?type=AGENT_SUSPENDED')).body.items.filter(
      ({ resourceId }: { resourceId: string }) => resourceId === id,
    )

  it('notes once that a rule suspends, and ends the tokens for good', async () => {
    const bob = await addUser(site, { username: 'bob' })
    const agent = await site.agent('owned', { owner: 'bob' })
    const token = await site.token(agent)
    await site.admin('PUT', `/users/${bob.id}`, { username: 'bob', enabled: false })
    site.pass(1000)
    await round()
    await round()
    expect(await suspensions(agent.agentId)).toMatchObject([{ actor: 'system', detail: 'owner' }])
    await site.admin('PUT', `/users/${bob.id}`, { username: 'bob', enabled: true })
    expect(await site.statusOf(agent)).toBe('ACTIVE')
    expect(await site.isActive(token, agent)).toBe(false)
    await round()
    const [event] = (await site.admin('GET', '/events?type=AGENT_ACTIVATED')).body.items
    expect(event).toMatchObject({ actor: 'system', detail: 'owner is over' })
  })

  it('reminds the owner before the review is due and when it is overdue', async () => {
    await site.admin('PUT', '/messaging/providers', {
      channel: 'EMAIL',
      driver: 'smtp',
      fromAddress: 'no-reply@acme.example',
      config: { host: '127.0.0.1', port: 9 },
    })
    const { db } = site.server.areas.storage
    const letters = async () =>
      (await db.selectFrom('jobs').select('id').where('queue', '=', 'messages').execute()).length
    await site.agent('reviewed', { owner: 'alice', reviewEvery: '30d' })
    await round()
    expect(await letters()).toBe(0)
    site.pass(23 * day)
    await round()
    await round()
    expect(await letters()).toBe(1)
    site.pass(7 * day)
    await round()
    await round()
    expect(await letters()).toBe(2)
  })
})
