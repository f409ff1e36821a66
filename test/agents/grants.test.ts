/** The client of an agent at every entry: each grant type, the authorization endpoint with its consent page, and refresh tokens. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grantTypes } from '#schemas/kinds/clients/client.ts'
import { wireName } from '#server/oidc/vocabulary.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { authorizeUrl, codeOf, exchange, newPerson, redirectUri } from '../oidc/relying-party.ts'
import { openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AgentSite, openAgentSite } from './fixture.ts'

const everyGrant = { grantTypes: [...grantTypes], redirectUris: [redirectUri] }

describe.each(backends)('the client of an agent on $name', (backend) => {
  let site: AgentSite
  beforeAll(async () => {
    site = await openAgentSite(backend)
  })
  afterAll(() => site.close())

  const browserOf = async () => {
    const person = newPerson(site)
    const { cookie } = await openSession(site, site.alice)
    const [name = '', value = ''] = cookie.split('=')
    person.jar.set(name, value)
    return person
  }

  it('gets nothing from any grant type or endpoint before it is activated', async () => {
    const { clientId, secret } = await site.agent('early', {}, everyGrant, 'PENDING')
    const credentials = { client_id: clientId, client_secret: secret }
    const refusedAt = async (path: string, fields: Record<string, string>) => {
      const { status, body } = await site.post(path, { ...credentials, ...fields })
      return [path, fields['grant_type'], status, body.error]
    }
    for (const name of grantTypes) {
      const grant_type = wireName(name)
      expect(await refusedAt('/token', { grant_type })).toEqual([
        '/token',
        grant_type,
        400,
        'unauthorized_client',
      ])
    }
    for (const path of ['/par', '/device', '/backchannel-authentication', '/introspect', '/revoke'])
      expect((await refusedAt(path, {})).slice(2)).toEqual([400, 'unauthorized_client'])
    const page = await (await browserOf()).open(authorizeUrl(site, { clientId }))
    expect([page.status, page.away]).toEqual([400, undefined])
    // Anybody may ask here: the state, and the rule that suspends an agent, are for the client that proves its secret.
    expect(page.body).not.toMatch(/PENDING|SUSPENDED|REVOKED/)
    const open = await site.agent(
      'open',
      {},
      { publicClient: true, serviceAccountsEnabled: false, grantTypes: ['authorization_code'] },
      'PENDING',
    )
    const fields = { grant_type: 'authorization_code', code: 'x', client_id: open.clientId }
    const { body } = await site.post('/token', fields)
    expect(body).toEqual({
      error: 'unauthorized_client',
      error_description: 'the agent of this client may not be used now',
    })
  })

  it('asks the user once: the page names agent, user and end; a suspension ends what came of it', async () => {
    const agent = await site.agent(
      'Order & Co',
      { description: 'Places orders.', expiresAt: site.now() + 86_400_000 },
      everyGrant,
    )
    const person = await browserOf()
    const url = authorizeUrl(site, agent, { scope: 'openid orders' })
    const page = await person.open(url)
    expect(page.body).toContain('The agent Order &amp; Co will act for alice')
    expect(page.body).toContain('Places orders.')
    expect(page.body).toContain('It may do so until ')
    const { body } = await exchange(
      site,
      agent,
      codeOf(await person.submit(page, { decision: 'allow' })),
    )
    for (const token of [body.access_token, body.id_token])
      expect(claimsOf(token)).toMatchObject({ nhi: true, sub: site.alice.id })
    expect(codeOf(await person.open(url))).toBeDefined()

    const refresh = (token: string) =>
      site.post('/token', {
        grant_type: 'refresh_token',
        client_id: agent.clientId,
        client_secret: agent.secret,
        refresh_token: token,
      })
    const { status, body: refreshed } = await refresh(body.refresh_token)
    expect([status, claimsOf(refreshed.access_token)['nhi']]).toEqual([200, true])
    const bearer = { authorization: `Bearer ${refreshed.access_token}` }
    expect((await site.get('/userinfo', bearer)).status).toBe(200)
    site.pass(1000)
    await site.move(agent, 'suspend')
    expect((await refresh(refreshed.refresh_token)).body.error).toBe('unauthorized_client')
    expect((await site.get('/userinfo', bearer)).status).toBe(401)
    await site.move(agent, 'activate')
    expect((await refresh(refreshed.refresh_token)).body.error).toBe('invalid_grant')
    expect((await site.get('/userinfo', bearer)).status).toBe(401)
  })
})
