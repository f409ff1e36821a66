/** The note of a delegation: how exactly the last use is known, and what a withdrawal at the same moment ends. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { csrfBinding } from '#server/sessions/sessions.ts'
import { openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { send } from '../support/server.ts'
import { type AgentSite, openAgentSite, type TestAgent } from './fixture.ts'

describe.each(backends)('uses of a delegation on $name', (backend) => {
  let site: AgentSite
  let bot: TestAgent
  let account: (method: string, path: string) => ReturnType<typeof send>
  beforeAll(async () => {
    site = await openAgentSite(backend)
    bot = await site.agent('bot')
    const { app, areas } = site.server
    const { cookie, session } = await openSession(site, site.alice)
    const token = areas.http.csrf.tokenFor(csrfBinding(session))
    account = (method, path) =>
      send(app, method, `/realms/acme/account${path}`, undefined, { cookie, 'x-xsrf-token': token })
  })
  afterAll(() => site.close())

  it('are noted once a minute, and at once where the scopes change', async () => {
    const subject = await site.ofAlice()
    const noted = async (scope: string) => {
      expect((await site.delegate(bot, subject, { scope })).status).toBe(200)
      const [one] = (await account('GET', '/agents')).body
      return { scopes: one.scopes.toSorted(), lastUsedAt: one.lastUsedAt }
    }
    const start = site.now()
    const first = { scopes: ['orders'], lastUsedAt: start }
    expect(await noted('orders')).toEqual(first)
    site.pass(59_000)
    expect(await noted('orders')).toEqual(first)
    // The token for orders is still good.
    const scopes = ['orders', 'profile']
    expect(await noted('profile')).toEqual({ scopes, lastUsedAt: start + 59_000 })
    site.pass(60_000)
    expect(await noted('profile')).toEqual({ scopes, lastUsedAt: start + 119_000 })
  })

  it('end with a withdrawal at the same moment, whichever comes first', async () => {
    const { storage, oidc } = site.server.areas
    for (let round = 0; round < 12; round += 1) {
      await storage.commit(
        await oidc.consents.grant('acme', site.alice.id, bot.id, ['openid', 'orders']),
      )
      const subject = await site.ofAlice()
      // Noted already: those that follow hold the note without writing it.
      expect((await site.delegate(bot, subject, { scope: 'orders' })).status).toBe(200)
      const asked = Array.from({ length: 6 }, () =>
        site.delegate(bot, subject, { scope: 'orders' }),
      )
      const withdrawn = account('DELETE', `/agents/${bot.agentId}`)
      const answers = await Promise.all(asked)
      expect((await withdrawn).status).toBe(204)
      for (const { status, body } of answers)
        if (status === 200) expect(await site.isActive(body.access_token, bot)).toBe(false)
        else expect(body.error).toBe('invalid_request')
      expect((await site.delegate(bot, subject)).body.error).toBe('invalid_request')
    }
  })
})
