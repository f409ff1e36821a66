/** Users see and withdraw the agents that act for them, and owners confirm theirs, as JSON and as a page. */

import { describe, expect, it } from 'vitest'
import { hiddenFields, newPerson } from '../oidc/relying-party.ts'
import { addUser, openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { send } from '../support/server.ts'
import { openAgentSite } from './fixture.ts'

describe.each(backends)('agents of an account on $name', (backend) => {
  it('are listed and withdrawn by the user they act for, and by nobody else', async () => {
    const site = await openAgentSite(backend)
    try {
      const bot = await site.agent('bot', { description: 'Places orders.' })
      const { alice, server } = site
      const bob = await addUser(site, { username: 'bob' })
      const accountOf = async (user: typeof alice) => {
        const { cookie, session } = await openSession(site, user)
        const { csrf } = server.areas.http
        const { csrfBinding } = await import('#server/sessions/sessions.ts')
        const headers = { cookie, 'x-xsrf-token': csrf.tokenFor(csrfBinding(session)) }
        return (method: string, path: string) =>
          send(server.app, method, `/realms/acme/account${path}`, undefined, headers)
      }
      const ofAlice = await accountOf(alice)
      const ofBob = await accountOf(bob)
      expect((await ofAlice('GET', '/agents')).body).toEqual([])
      const token = (await site.delegate(bot, await site.ofAlice(), { scope: 'orders' })).body
        .access_token
      expect((await ofAlice('GET', '/agents')).body).toEqual([
        {
          id: bot.agentId,
          name: 'bot',
          description: 'Places orders.',
          status: 'ACTIVE',
          scopes: ['orders'],
          since: site.now(),
          lastUsedAt: site.now(),
        },
      ])
      expect((await ofBob('GET', '/agents')).body).toEqual([])
      expect((await ofBob('DELETE', `/agents/${bot.agentId}`)).status).toBe(404)
      expect(await site.isActive(token, bot)).toBe(true)
      expect((await ofAlice('DELETE', `/agents/${bot.agentId}`)).status).toBe(204)
      expect(await site.isActive(token, bot)).toBe(false)
      expect((await ofAlice('DELETE', `/agents/${bot.agentId}`)).status).toBe(404)
      expect((await ofAlice('GET', '/agents')).body).toEqual([])
      expect((await site.delegate(bot, await site.ofAlice())).body.error).toBe('invalid_request')
      expect((await site.events('REVOKE_GRANT'))[0]).toMatchObject({
        actor: alice.id,
        detail: 'agent',
      })
    } finally {
      await site.close()
    }
  })

  it('are listed with every scope that a token of theirs still has, since when, and their last use', async () => {
    const site = await openAgentSite(backend)
    try {
      const bot = await site.agent('bot', { allowedScopes: ['orders', 'profile'] })
      const person = newPerson(site)
      const { cookie } = await openSession(site, site.alice)
      const [name = '', value = ''] = cookie.split('=')
      person.jar.set(name, value)
      const listed = async () => {
        const headers = { cookie }
        const answer = await send(
          site.server.app,
          'GET',
          '/realms/acme/account/agents',
          undefined,
          headers,
        )
        return answer.body[0]
      }
      const since = site.now()
      const first = await site.delegate(bot, await site.ofAlice(), { scope: 'orders' })
      site.pass(120_000)
      // A token for less does not hide the one before.
      await site.delegate(bot, await site.ofAlice(), { scope: 'profile' })
      expect(await site.isActive(first.body.access_token, bot)).toBe(true)
      expect(await listed()).toMatchObject({ since, lastUsedAt: since + 120_000 })
      expect((await listed()).scopes.toSorted()).toEqual(['orders', 'profile'])
      const page = await person.open(`${site.issuer}/account/agents`, undefined, {
        accept: 'text/html',
      })
      expect(page.body).toMatch(/profile, orders|orders, profile/)
      site.pass(200_000)
      expect(await site.isActive(first.body.access_token, bot)).toBe(false)
      expect((await listed()).scopes).toEqual(['profile'])
      expect((await listed()).status).toBe('ACTIVE')
      // One that an administrator stopped does not look as if it went on.
      await site.move(bot, 'suspend')
      expect((await listed()).status).toBe('SUSPENDED')
      const stopped = await person.open(`${site.issuer}/account/agents`, undefined, {
        accept: 'text/html',
      })
      expect(stopped.body).toContain('Suspended')
    } finally {
      await site.close()
    }
  })

  it('are confirmed by their owner on the page, which names both kinds', async () => {
    const site = await openAgentSite(backend)
    try {
      const mine = await site.agent('mine', { owner: 'alice', reviewEvery: '10d' })
      await site.agent('theirs', { reviewEvery: '10d' })
      site.pass(10 * 86_400_000)
      expect(await site.statusOf(mine)).toBe('SUSPENDED')
      const person = newPerson(site)
      const { cookie } = await openSession(site, site.alice)
      const [name = '', value = ''] = cookie.split('=')
      person.jar.set(name, value)
      const url = `${site.issuer}/account/agents`
      const html = { accept: 'text/html' }
      const page = await person.open(url, undefined, html)
      expect(page.body).toContain('mine')
      expect(page.body).not.toContain('theirs')
      expect(page.body).toContain('Suspended')
      const theirId = (await site.admin('GET', '/agents/theirs')).body.id
      const fields = hiddenFields(page.body)
      const refused = await person.open(url, { ...fields, attest: theirId }, html)
      expect(refused.status).toBe(404)
      await person.open(url, { ...fields, attest: mine.agentId }, html)
      expect(await site.statusOf(mine)).toBe('ACTIVE')
      expect((await site.events('AGENT_ATTESTED'))[0]).toMatchObject({ actor: site.alice.id })
    } finally {
      await site.close()
    }
  })
})
