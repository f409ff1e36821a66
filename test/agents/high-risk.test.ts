/** High-risk scopes of agents: an exchange waits for a confirmation of the user, which is for this request and for minutes. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { hiddenFields, newPerson, type Person, password } from '../oidc/relying-party.ts'
import { accessTokenOf, addUser, issueGrant, openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, openAgentSite, type TestAgent } from './fixture.ts'

const minute = 60_000
const asked = { scope: 'orders payments' }
const held = ['openid', 'orders', 'payments']

describe.each(backends)('a high-risk scope of an agent on $name', (backend) => {
  let site: AgentSite
  let bot: TestAgent
  let alice: Person

  const personOf = async (user = site.alice): Promise<Person> => {
    const person = newPerson(site)
    const [name = '', value = ''] = (await openSession(site, user)).cookie.split('=')
    person.jar.set(name, value)
    return person
  }

  beforeEach(async () => {
    site = await openAgentSite(backend)
    await site.admin('POST', '/client-scopes', {
      name: 'payments',
      description: 'Payments <b>in your name</b>',
      highRisk: true,
    })
    const app = (await site.admin('GET', '/clients/app')).body
    await site.admin('PUT', '/clients/app', { ...app, scopes: [...app.scopes, 'payments'] })
    bot = await site.agent(
      'bot',
      { allowedScopes: ['orders', 'payments'], description: 'Pays bills.' },
      {
        scopes: ['orders', 'payments'],
        audiences: ['https://pay.example', 'https://bank.example'],
      },
    )
    alice = await personOf()
  })
  afterEach(() => site.close())

  const delegate = async (more: Readonly<Record<string, string>> = asked) =>
    site.delegate(bot, await site.ofAlice({ scope: held }), more)
  const addressOf = async (more = asked): Promise<string> =>
    (await delegate(more)).body.verification_uri
  const answer = async (person: Person, address: string, decision: 'allow' | 'deny') =>
    person.submit(await person.open(address), { decision })

  it('is refused with the address where the user sees who acts, for whom, what and how long', async () => {
    const { status, body } = await delegate()
    expect(status).toBe(400)
    expect(body).toEqual({
      error: 'interaction_required',
      error_description: 'the user must confirm the scope payments',
      verification_uri: expect.stringMatching(
        `^${site.issuer}/agent/delegation/confirm/[0-9a-f]{32}$`,
      ),
      expires_in: 600,
      interval: 5,
    })
    expect(await addressOf()).toBe(body.verification_uri)
    const page = await alice.open(body.verification_uri)
    expect(page.status).toBe(200)
    for (const shown of ['bot', 'Pays bills.', 'alice', 'Five minutes'])
      expect(page.body).toContain(shown)
    expect(page.body).toContain('Payments &lt;b&gt;in your name&lt;/b&gt;')
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const done = await alice.submit(page, { decision: 'allow' })
    expect(done.body).toContain('The agent may go on')
    const given = await delegate()
    expect(given.body).toMatchObject({ scope: 'orders payments', expires_in: 300 })
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: site.alice.id,
      resourceType: 'agents',
      resourceId: bot.agentId,
      detail: 'confirmation: payments',
    })
  })

  it('waits in the account of the user until it is decided', async () => {
    const address = await addressOf()
    const { cookie } = await openSession(site, site.alice)
    const listed = async () => (await site.get('/account/agent-confirmations', { cookie })).body
    expect(await listed()).toEqual([
      {
        agentId: bot.agentId,
        name: 'bot',
        scopes: ['payments'],
        targets: [],
        expiresAt: expect.any(Number),
        decideAt: address,
      },
    ])
    const page = await site.get('/account/agents', { cookie, accept: 'text/html' })
    expect(page.body).toContain(`href="${address}"`)
    const bob = await openSession(site, await addUser(site, { username: 'bob' }))
    const { body } = await site.get('/account/agent-confirmations', { cookie: bob.cookie })
    expect(body).toEqual([])
    await answer(alice, address, 'deny')
    expect(await listed()).toEqual([])
  })

  it('ends with the confirmation, and is confirmed again then', async () => {
    await answer(alice, await addressOf(), 'allow')
    site.pass(4 * minute)
    const { body } = await delegate()
    expect(body.expires_in).toBe(60)
    expect(await site.isActive(body.access_token, bot)).toBe(true)
    site.pass(minute)
    expect(await site.isActive(body.access_token, bot)).toBe(false)
    expect((await delegate()).body.error).toBe('interaction_required')
  })

  it('is not in a token that does not ask for it by name', async () => {
    expect((await delegate({})).body.scope).toBe('openid orders')
  })

  it('is not covered by a consent from before', async () => {
    const { areas } = site.server
    await areas.storage.commit(
      await areas.oidc.consents.grant('acme', site.alice.id, bot.id, ['orders', 'payments']),
    )
    expect((await delegate()).body.error).toBe('interaction_required')
  })

  it('is confirmed for one set of services', async () => {
    const pay = { ...asked, audience: 'https://pay.example' }
    const address = await addressOf(pay)
    const page = await alice.open(address)
    expect(page.body).toContain('https://pay.example')
    await alice.submit(page, { decision: 'allow' })
    expect((await delegate(pay)).status).toBe(200)
    expect((await delegate({ ...asked, audience: 'https://bank.example' })).body.error).toBe(
      'interaction_required',
    )
    expect((await delegate()).body.error).toBe('interaction_required')
    expect((await site.events('GRANT_CONSENT'))[0]?.detail).toBe(
      'confirmation: payments https://pay.example',
    )
  })

  it('is confirmed for one agent', async () => {
    await answer(alice, await addressOf(), 'allow')
    const other = await site.agent(
      'other-bot',
      { allowedScopes: ['payments'] },
      { scopes: ['payments'] },
    )
    const { body } = await site.delegate(other, await site.ofAlice({ scope: held }), {
      scope: 'payments',
    })
    expect(body.error).toBe('interaction_required')
  })

  it('is denied for as long as a confirmation lasts, and asked for again later', async () => {
    const address = await addressOf()
    const otherTab = await alice.open(address)
    expect((await answer(alice, address, 'deny')).body).toContain('Access was not allowed')
    expect((await alice.submit(otherTab, { decision: 'allow' })).body).toContain('decided already')
    expect((await delegate()).body.error).toBe('access_denied')
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({
      outcome: 'FAILURE',
      detail: 'confirmation: access_denied',
    })
    expect((await alice.open(address)).body).toContain('decided already')
    site.pass(5 * minute)
    expect(await addressOf()).not.toBe(address)
  })

  it('is confirmed after a recent sign-in alone, also where the page was open before', async () => {
    const { alice: user, app } = site
    // A new password ends what was before.
    await site.admin('POST', `/users/${user.id}/credentials`, { type: 'password', value: password })
    alice = await personOf()
    const { grant } = await issueGrant(site, app, user, { scope: held })
    const delegate = async () =>
      site.delegate(bot, await accessTokenOf(site, app, user, grant, held), asked)
    const address = (await delegate()).body.verification_uri
    const page = await alice.open(address)
    site.pass(6 * minute)
    const late = await alice.submit(page, { decision: 'allow' })
    expect(late.url).toContain('/login?')
    expect((await delegate()).body.error).toBe('interaction_required')
    const again = await alice.open(address)
    expect(again.body).toContain('name="password"')
    const shown = await alice.submit(again, { username: 'alice', password })
    expect(shown.url).toBe(address)
    await alice.submit(shown, { decision: 'allow' })
    expect((await delegate()).body.scope).toBe('orders payments')
  })

  it('is not confirmed by another user, a forged form, or an administrator who acts as the user', async () => {
    const bob = await personOf(await addUser(site, { username: 'bob' }))
    const address = await addressOf()
    expect((await bob.open(address)).status).toBe(404)
    const mine = await alice.open(address)
    const ofBob = hiddenFields(
      (await bob.open(`${site.issuer}/account/agents`, undefined, { accept: 'text/html' })).body,
    )
    expect((await bob.open(address, { ...ofBob, decision: 'allow' })).status).toBe(404)
    expect((await alice.open(address, { decision: 'allow' })).status).toBe(403)
    expect((await alice.submit(mine, { decision: 'perhaps' })).status).toBe(400)
    const { storage } = site.server.areas
    const taken = storage.db.updateTable('sessions').set({ impersonator: site.server.admin.userId })
    await storage.commit([statement(taken)])
    expect((await alice.open(address)).status).toBe(403)
    expect((await alice.submit(mine, { decision: 'allow' })).status).toBe(403)
    expect((await delegate()).body.error).toBe('interaction_required')
  })

  it('does not bury the user: an agent has five questions open at most', async () => {
    const audiences = [1, 2, 3, 4, 5, 6].map((n) => `https://${n}.example`)
    const client = (await site.admin('GET', '/clients/bot')).body
    await site.admin('PUT', '/clients/bot', { ...client, audiences })
    const errors: string[] = []
    for (const audience of audiences)
      errors.push((await delegate({ ...asked, audience })).body.error)
    expect(errors).toEqual([...Array(5).fill('interaction_required'), 'access_denied'])
  })
})
