/** Delegation to agents (RFC 8693): what a token says, what refuses it, and what ends it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import {
  type AgentSite,
  accessType,
  grantType,
  idType,
  openAgentSite,
  type TestAgent,
} from './fixture.ts'

describe.each(backends)('delegation on $name', (backend) => {
  let site: AgentSite
  let bot: TestAgent
  beforeAll(async () => {
    site = await openAgentSite(backend)
    bot = await site.agent('bot', {}, { audiences: ['orders-api'] })
    await site.admin('PUT', `/clients/${bot.id}/allowed-resources`, ['https://api.example'])
  })
  afterAll(() => site.close())

  const refusal = async (...given: Parameters<AgentSite['delegate']>): Promise<unknown> => {
    const { status, body } = await site.delegate(...given)
    return [status, body.error]
  }

  it('names user and agent, and records both', async () => {
    const { status, body } = await site.delegate(bot, await site.ofAlice())
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual([
      'access_token',
      'expires_in',
      'issued_token_type',
      'scope',
      'token_type',
    ])
    expect(body).toMatchObject({ issued_token_type: accessType, scope: 'openid profile orders' })
    expect(claimsOf(body.access_token)).toMatchObject({
      sub: site.alice.id,
      client_id: 'bot',
      nhi: true,
      act: { sub: bot.id, iss: site.issuer, client_id: 'bot' },
    })
    const [event] = (await site.admin('GET', '/events?type=DELEGATION_TOKEN')).body.items
    expect(event).toMatchObject({
      outcome: 'SUCCESS',
      actor: bot.id,
      onBehalfOf: site.alice.id,
      detail: 'agent bot, from app',
    })
  })

  it('is the same at the token endpoint, and takes the own token of the agent instead of its secret', async () => {
    const subject = await site.ofAlice()
    const fields = { grant_type: grantType, subject_token: subject, subject_token_type: accessType }
    const atToken = await site.post('/token', {
      ...fields,
      client_id: 'bot',
      client_secret: bot.secret,
    })
    expect(claimsOf(atToken.body.access_token)).toMatchObject({
      act: { client_id: 'bot' },
      nhi: true,
    })
    const own = await site.agent('own', {}, {})
    const bearer = { authorization: `Bearer ${await site.token(own)}` }
    // It is of the app and not for this agent: the agent is known, the subject is not its.
    const answer = await site.post('/agent/delegation/token', fields, bearer)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    const chained = {
      ...fields,
      subject_token: await site.ofAlice({ claims: { may_act: { client_id: 'own' } } }),
    }
    const given = await site.post('/agent/delegation/token', chained, bearer)
    expect(claimsOf(given.body.access_token)).toMatchObject({ act: { client_id: 'own' } })
    // One for a service that the agent calls does not open the endpoint.
    const foreign = { authorization: `Bearer ${await site.token(bot)}` }
    expect((await site.post('/agent/delegation/token', fields, foreign)).status).toBe(401)
    const both = await site.post(
      '/agent/delegation/token',
      { ...chained, client_secret: own.secret },
      bearer,
    )
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request'])
    // A token of a user is not the agent's own.
    const ofUser = { authorization: `Bearer ${subject}` }
    expect((await site.post('/agent/delegation/token', fields, ofUser)).status).toBe(401)
  })

  it('never widens the scope (zitadel 02d07e95) and drops no subject (CVE-2026-9704)', async () => {
    const subject = await site.ofAlice({ scope: ['openid', 'email', 'orders'] })
    expect((await site.delegate(bot, subject)).body.scope).toBe('openid orders')
    expect((await site.delegate(bot, subject, { scope: 'orders' })).body.scope).toBe('orders')
    // Of the agent and not of the subject; of the subject and not of the agent; of neither.
    for (const scope of ['profile', 'email', 'invoices', 'orders profile', 'offline_access'])
      expect([scope, await refusal(bot, subject, { scope })]).toEqual([
        scope,
        [400, 'invalid_scope'],
      ])
    for (const missing of ['subject_token', 'subject_token_type'])
      expect(await refusal(bot, subject, { [missing]: '' })).toEqual([400, 'invalid_request'])
    expect(await refusal(bot, 'not a token')).toEqual([400, 'invalid_request'])
    expect(await refusal(bot, subject, { grant_type: 'client_credentials' })).toEqual([
      400,
      'unsupported_grant_type',
    ])
  })

  it('is for the services of the agent alone (GHSA-7qjx-gp9h-65qj)', async () => {
    const subject = await site.ofAlice()
    const at = async (more: Record<string, string>) =>
      claimsOf((await site.delegate(bot, subject, more)).body.access_token)['aud']
    expect(await at({ audience: 'orders-api' })).toBe('orders-api')
    expect(await at({ resource: 'https://api.example' })).toBe('https://api.example')
    expect(await refusal(bot, subject, { audience: 'payroll' })).toEqual([400, 'invalid_target'])
    expect(await refusal(bot, subject, { resource: 'https://evil.example' })).toEqual([
      400,
      'invalid_target',
    ])
  })

  it('takes only a subject that is for the agent, names it, or consented to it', async () => {
    const stranger = await site.agent('stranger')
    expect(await refusal(stranger, await site.ofAlice())).toEqual([400, 'invalid_request'])
    const naming = (may_act: unknown) => site.ofAlice({ claims: { may_act } })
    const { body } = await site.delegate(stranger, await naming({ client_id: 'stranger' }))
    expect(claimsOf(body.access_token)).toMatchObject({
      act: { client_id: 'stranger' },
      may_act: { client_id: 'stranger' },
    })
    // It names another actor, one of another issuer, or nothing that we know.
    for (const may_act of [
      { client_id: 'stranger' },
      { sub: bot.id, iss: 'https://other.example' },
      { sub: bot.id, role: 'x' },
      {},
      'bot',
    ])
      expect(await refusal(bot, await naming(may_act))).toEqual([400, 'invalid_request'])
    await site.server.areas.storage.commit(
      await site.server.areas.oidc.consents.grant('acme', site.alice.id, stranger.id, ['orders']),
    )
    expect((await site.delegate(stranger, await site.ofAlice())).body.scope).toBe('orders')
  })

  it('refuses an id token as subject, the subject as actor, and a refresh token', async () => {
    const subject = await site.ofAlice()
    expect(await refusal(bot, subject, { subject_token_type: idType })).toEqual([
      400,
      'invalid_request',
    ])
    const requested_token_type = 'urn:ietf:params:oauth:token-type:refresh_token'
    expect(await refusal(bot, subject, { requested_token_type })).toEqual([400, 'invalid_request'])
    const own = await site.token(bot)
    expect(await refusal(bot, own)).toEqual([400, 'invalid_request'])
    for (const actor_token of [subject, (await site.delegate(bot, subject)).body.access_token])
      expect(await refusal(bot, subject, { actor_token, actor_token_type: accessType })).toEqual([
        400,
        'invalid_request',
      ])
    const shown = await site.delegate(bot, subject, {
      actor_token: own,
      actor_token_type: accessType,
    })
    expect(shown.status).toBe(200)
  })

  it('refuses a subject of another realm (CVE-2026-9094), an expired one and a disabled user', async () => {
    const other = await site.server.createRealm('other')
    const { send } = await site.server.signedIn('master', 'admin')
    const made = await send('POST', `${other}/clients`, {
      clientId: 'bot',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
    })
    const foreign = await fetch(`${site.server.baseUrl}/realms/other/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'bot',
        client_secret: made.body.secret,
      }),
    })
    const { access_token } = (await foreign.json()) as { access_token: string }
    expect(await refusal(bot, access_token)).toEqual([400, 'invalid_request'])

    const dave = await addUser(site, { username: 'dave' })
    const { grant } = await issueGrant(site, site.app, dave)
    const ofDave = await accessTokenOf(site, site.app, dave, grant)
    expect((await site.delegate(bot, ofDave)).status).toBe(200)
    await site.admin('PUT', `/users/${dave.id}`, { username: 'dave', enabled: false })
    expect(await refusal(bot, ofDave)).toEqual([400, 'invalid_request'])
  })

  it('refuses an agent that is not ACTIVE, may not act for users, or is none', async () => {
    const subject = await site.ofAlice({ claims: { may_act: { iss: site.issuer } } })
    const pending = await site.agent('pending', {}, {}, 'PENDING')
    expect(await refusal(pending, subject)).toEqual([400, 'unauthorized_client'])
    const kept = await site.agent('kept', { allowedDelegation: false })
    expect(await refusal(kept, subject)).toEqual([400, 'unauthorized_client'])
    expect(await refusal(site.app, subject)).toEqual([400, 'unauthorized_client'])
    const { status, body } = await site.post('/token', {
      grant_type: grantType,
      client_id: kept.clientId,
      client_secret: kept.secret,
      subject_token: subject,
      subject_token_type: accessType,
    })
    expect([status, body.error]).toEqual([400, 'unauthorized_client'])
  })

  it('never outlives its subject, and chains five actors at most', async () => {
    const subject = await site.ofAlice()
    const { exp } = claimsOf(subject)
    site.pass((Number(exp) - 10) * 1000 - site.now())
    const { body } = await site.delegate(bot, subject)
    expect(body.expires_in).toBe(10)
    expect(claimsOf(body.access_token)['exp']).toBe(exp)

    const nested = (depth: number): object =>
      depth === 1 ? { sub: 'a' } : { sub: 'a', act: nested(depth - 1) }
    const four = await site.ofAlice({ claims: { act: nested(4) } })
    const five = await site.ofAlice({ claims: { act: nested(5) } })
    expect((await site.delegate(bot, four)).status).toBe(200)
    expect(await refusal(bot, five)).toEqual([400, 'invalid_request'])
  })

  it('passes a chain on, which ends with each agent in it', async () => {
    const second = await site.agent('other-bot')
    const first = (
      await site.delegate(bot, await site.ofAlice({ claims: { may_act: { iss: site.issuer } } }), {
        audience: 'bot',
      })
    ).body.access_token
    const chained = (await site.delegate(second, first)).body.access_token
    expect(claimsOf(chained)).toMatchObject({
      sub: site.alice.id,
      act: { client_id: 'other-bot', act: { client_id: 'bot', sub: bot.id } },
    })
    expect(await site.isActive(chained, second)).toBe(true)
    site.pass(1000)
    await site.move(bot, 'suspend')
    expect(await site.isActive(chained, second)).toBe(false)
    site.pass(1000)
    await site.move(bot, 'activate')
    expect(await site.isActive(chained, second)).toBe(false)
  })

  it('ends with the consent of the user, and does not begin again without a new one', async () => {
    const { consents } = site.server.areas.oidc
    const { storage } = site.server.areas
    await storage.commit(await consents.grant('acme', site.alice.id, bot.id, ['openid', 'orders']))
    const token = (await site.delegate(bot, await site.ofAlice())).body.access_token
    expect(claimsOf(token)['scope']).toBe('openid orders')
    expect(await site.isActive(token, bot)).toBe(true)
    await storage.commit(consents.revoke('acme', site.alice.id, bot.id))
    expect(await site.isActive(token, bot)).toBe(false)
    expect((await site.get('/userinfo', { authorization: `Bearer ${token}` })).status).toBe(401)
    expect(await refusal(bot, await site.ofAlice())).toEqual([400, 'invalid_request'])
    await storage.commit(await consents.grant('acme', site.alice.id, bot.id, ['orders', 'profile']))
    expect((await site.delegate(bot, await site.ofAlice())).body.scope).toBe('profile orders')
  })

  it('asks for the consent of the user where the client must', async () => {
    const asking = await site.agent('asking', {}, { consentRequired: true })
    const subject = await site.ofAlice({ claims: { may_act: { client_id: 'asking' } } })
    expect(await refusal(asking, subject)).toEqual([400, 'invalid_request'])
    const { consents } = site.server.areas.oidc
    await site.server.areas.storage.commit(
      await consents.grant('acme', site.alice.id, asking.id, ['orders']),
    )
    expect((await site.delegate(asking, subject)).body.scope).toBe('orders')
  })

  it('ends with the session of the user', async () => {
    const token = (await site.delegate(bot, await site.ofAlice())).body.access_token
    expect(await site.isActive(token, bot)).toBe(true)
    await site.admin('DELETE', `/sessions/${site.grant.sid}`)
    expect(await site.isActive(token, bot)).toBe(false)
  })
})
