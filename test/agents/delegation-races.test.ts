/** What a delegation is worth that was under way while its agent was suspended, and one of an impersonated user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { accessTokenOf, issueGrant, issuerOf } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, openAgentSite, type TestAgent } from './fixture.ts'

/** Enough for requests of every phase to meet the suspension. */
const rounds = 12
const requestsOfRound = 6

describe.each(backends)('delegation at the wrong moment on $name', (backend) => {
  let site: AgentSite
  let bot: TestAgent
  beforeAll(async () => {
    site = await openAgentSite(backend)
    bot = await site.agent('bot', {}, { audiences: ['app'] })
  })
  afterAll(() => site.close())

  it('leaves no token behind that outlives a suspension, nor comes back with an activation', async () => {
    const subject = await site.ofAlice()
    const issued: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const asked = Array.from({ length: requestsOfRound }, () => site.delegate(bot, subject))
      const [moved, ...answers] = await Promise.all([site.move(bot, 'suspend'), ...asked])
      expect(moved).toBe(200)
      for (const { status, body } of answers)
        if (status === 200) issued.push(body.access_token)
        else expect([status, body.error]).toEqual([400, 'unauthorized_client'])
      for (const token of issued) expect(await site.isActive(token)).toBe(false)
      site.pass(1)
      expect(await site.move(bot, 'activate')).toBe(200)
      for (const token of issued) expect(await site.isActive(token)).toBe(false)
    }
    const { body } = await site.delegate(bot, subject)
    expect(await site.isActive(body.access_token)).toBe(true)
  })

  it('names the administrator who acts as the user, in token and event, and ends with that session', async () => {
    const { areas } = site.server
    const opened = areas.sessions.openStatements({
      realm: 'acme',
      userId: site.alice.id,
      ip: '127.0.0.1',
      userAgent: 'test',
      rememberMe: false,
      settings: (await issuerOf(site)).settings,
      impersonator: site.server.admin.userId,
    })
    await areas.storage.commit(opened.statements)
    const { sid } = opened.session
    const { grant } = await issueGrant(site, site.app, site.alice, {
      sid,
      scope: ['openid', 'orders'],
      data: { claims: { act: { sub: site.server.admin.userId } } },
    })
    const claims = { act: { sub: site.server.admin.userId } }
    const subject = await accessTokenOf(
      site,
      site.app,
      site.alice,
      grant,
      ['openid', 'orders'],
      claims,
    )
    const { status, body } = await site.delegate(bot, subject)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: site.alice.id,
      act: { client_id: 'bot', act: claims.act },
    })
    const [event] = (await site.admin('GET', '/events?type=DELEGATION_TOKEN')).body.items
    expect(event).toMatchObject({
      actor: bot.id,
      onBehalfOf: site.alice.id,
      detail: `agent bot, from app, impersonated by ${site.server.admin.userId}`,
    })
    expect(await site.isActive(body.access_token)).toBe(true)
    await site.admin('DELETE', `/sessions/${sid}`)
    expect(await site.isActive(body.access_token)).toBe(false)
  })
})
