/** Attacks on agents: what outlives an agent, its client or the consent of a user, and values that no database stores. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf, type TestClient } from '../oidc/fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../oidc/relying-party.ts'
import { accessTokenOf, addUser, issueGrant } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, accessType, grantType, openAgentSite } from './fixture.ts'

describe.each(backends)('an attacked agent on $name', (backend) => {
  let site: AgentSite
  let service: TestClient
  beforeAll(async () => {
    site = await openAgentSite(backend)
    service = await site.client({
      clientId: 'service',
      grantTypes: ['client_credentials', 'token-exchange'],
      serviceAccountsEnabled: true,
      scopes: ['orders', 'profile'],
    })
  })
  afterAll(() => site.close())

  /** What the service makes of a token that was shown to it. */
  const exchanged = async (subject: string): Promise<string> => {
    const { body } = await site.post('/token', {
      grant_type: grantType,
      client_id: service.clientId,
      client_secret: service.secret,
      subject_token: subject,
      subject_token_type: accessType,
    })
    return body.access_token
  }

  const disable = async (kind: 'users' | 'clients', id: string): Promise<void> => {
    const { body } = await site.admin('GET', `/${kind}/${id}`)
    await site.admin('PUT', `/${kind}/${id}`, { ...body, enabled: false })
  }

  it('takes along what a service got for the token of the agent, at once when a rule suspends it', async () => {
    const owner = await addUser(site, { username: 'owner' })
    const bot = await site.agent('owned', { owner: 'owner' }, { audiences: ['service'] })
    const { grant } = await issueGrant(site, bot, site.alice, { scope: ['openid', 'orders'] })
    const ofUser = await accessTokenOf(site, bot, site.alice, grant, ['orders'])
    const tokens = [await exchanged(await site.token(bot)), await exchanged(ofUser)]
    for (const token of tokens) {
      expect(claimsOf(token)).toMatchObject({ client_id: 'service', nhi: true })
      expect(await site.isActive(token, service)).toBe(true)
    }
    await disable('users', owner.id)
    for (const token of tokens) expect(await site.isActive(token, service)).toBe(false)
  })

  it('takes chains along when its client is disabled', async () => {
    const bot = await site.agent('bot', {}, { audiences: ['other-bot'] })
    const second = await site.agent('other-bot')
    const first = (await site.delegate(bot, await site.ofAlice())).body.access_token
    const chained = (await site.delegate(second, first)).body.access_token
    expect(await site.isActive(chained, second)).toBe(true)
    await disable('clients', bot.id)
    expect(await site.isActive(chained, second)).toBe(false)
  })

  it('ends its tokens when it is deleted, and its client has only what it gets as a client', async () => {
    const bot = await site.agent('deleted')
    const own = await site.token(bot)
    const naming = await site.ofAlice({ claims: { may_act: { client_id: 'deleted' } } })
    const acting = (await site.delegate(bot, naming)).body.access_token
    expect([await site.isActive(own, bot), await site.isActive(acting, bot)]).toEqual([true, true])
    site.pass(1000)
    await site.admin('DELETE', `/agents/${bot.agentId}`)
    expect([await site.isActive(own, bot), await site.isActive(acting, bot)]).toEqual([
      false,
      false,
    ])
    // The other way round: a token from before the client was an agent is not within its bounds.
    const before = await site.token(bot)
    site.pass(1000)
    const { body } = await site.admin('POST', '/agents', { name: 'again', clientId: 'deleted' })
    await site.admin('POST', `/agents/${body.id}/activate`)
    expect(await site.isActive(before, bot)).toBe(false)
    expect(await site.isActive(await site.token(bot), bot)).toBe(true)
  })

  it('does not act for a user who withdrew the consent before its first delegation', async () => {
    const bot = await site.agent(
      'asking',
      {},
      { grantTypes: ['authorization_code', 'token-exchange'], redirectUris: [redirectUri] },
    )
    const id = await addPerson(site, 'frank')
    const [frank] = await site.server.areas.storage.db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', id)
      .execute()
    if (!frank) throw new Error('no frank')
    const person = newPerson(site)
    const url = authorizeUrl(site, bot, { scope: 'openid orders' })
    await person.submit(await person.signIn(url, 'frank'), { decision: 'allow' })
    const shop = await site.client({ clientId: 'shop', audiences: ['asking'], scopes: ['orders'] })
    const { grant } = await issueGrant(site, shop, frank)
    const ofFrank = () => accessTokenOf(site, shop, frank, grant, ['openid', 'orders'])
    const { storage, oidc } = site.server.areas
    await storage.commit(oidc.consents.revoke('acme', id, bot.id))
    expect((await site.delegate(bot, await ofFrank())).status).toBe(400)
    await person.submit(await person.open(url), { decision: 'allow' })
    expect((await site.delegate(bot, await ofFrank())).status).toBe(200)
  })

  it('is not asked for more than the agent may have, neither by scope nor by single claims', async () => {
    const bot = await site.agent(
      'modest',
      { allowedScopes: ['orders'] },
      {
        grantTypes: ['authorization_code'],
        redirectUris: [redirectUri],
        scopes: ['orders', 'email'],
        defaultScopes: ['profile'],
      },
    )
    const beyond = await newPerson(site).open(authorizeUrl(site, bot, { scope: 'openid email' }))
    expect(answerOf(beyond)['error']).toBe('invalid_scope')
    await addPerson(site, 'grace')
    const person = newPerson(site)
    const claims = JSON.stringify({ userinfo: { email: null }, id_token: { email: null } })
    const page = await person.signIn(
      authorizeUrl(site, bot, { scope: 'openid orders', claims }),
      'grace',
    )
    expect(page.body).not.toContain('email address')
    const answer = await person.submit(page, { decision: 'allow' })
    const { body } = await exchange(site, bot, codeOf(answer))
    expect(claimsOf(body.id_token)).not.toHaveProperty('email')
    const told = await site.get('/userinfo', { authorization: `Bearer ${body.access_token}` })
    expect(Object.keys(told.body)).toEqual(['sub'])
  })

  const odd = ['\0', 'a\0b', '\u202e', '\uffff', 'x'.repeat(5000), '💥', "'"]

  it('answers 400 to a delegation with values that no database stores', async () => {
    const bot = await site.agent('odd')
    const subject = await site.ofAlice({ claims: { may_act: { client_id: 'odd' } } })
    const fields = ['scope', 'audience', 'resource', 'subject_token', 'subject_token_type'].concat([
      'actor_token',
      'actor_token_type',
      'requested_token_type',
      'grant_type',
      'client_id',
    ])
    const statuses = new Map<string, number>()
    for (const value of odd)
      for (const field of fields) {
        const more = field === 'actor_token' ? { actor_token_type: accessType } : {}
        const { status } = await site.delegate(bot, subject, { ...more, [field]: value })
        statuses.set(`${field} ${value}`, status)
      }
    expect([...statuses].filter(([, status]) => status !== 400)).toEqual([])
  })

  it('is not written with values that no database stores', async () => {
    const { send } = await site.server.signedIn('master', 'admin')
    const path = '/admin/realms/acme/agents'
    const failed: unknown[] = []
    const note = (what: string, { status }: { status: number }) => {
      if (status >= 500) failed.push([what, status])
    }
    for (const [index, value] of [...odd, '\ud800'].entries()) {
      for (const field of [
        'name',
        'description',
        'owner',
        'ownerUserId',
        'clientId',
        'reviewEvery',
      ])
        note(field, await send('POST', path, { name: `odd-${field}-${index}`, [field]: value }))
      if (!value.isWellFormed()) continue
      note('GET', await send('GET', `${path}/${encodeURIComponent(value)}`))
      note('activate', await send('POST', `${path}/${encodeURIComponent(value)}/activate`))
    }
    // Pages and mails show it as a date.
    for (const expiresAt of [1e300, Number.MAX_SAFE_INTEGER, 253_402_300_800_000, -1, 1.5])
      expect((await send('POST', path, { name: 'dated', expiresAt })).status).toBe(400)
    expect(failed).toEqual([])
  })
})
