/** An administrator who acts as a user is named in every token that comes of it, and does not reach the account. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { authorizeUrl, codeOf, exchange, newPerson, redirectUri } from '../relying-party.ts'
import { accessTokenOf, addUser, issueGrant, issuerOf } from '../users.ts'

describe.each(backends)('tokens of an impersonated user on $name', (backend) => {
  let site: OidcSite
  let app: TestClient
  let alice: UserRow
  beforeAll(async () => {
    site = await openIssuer(backend)
    app = await site.client({
      clientId: 'app',
      grantTypes: ['authorization_code', 'refresh_token', 'token-exchange'],
      redirectUris: [redirectUri],
      scopes: ['account'],
    })
    alice = await addUser(site, { username: 'alice' })
  })
  afterAll(() => site.close())

  it('carry `act`, after the code, a refresh and an exchange', async () => {
    const { areas, admin } = site.server
    const adminId = admin.userId
    const opened = areas.sessions.openStatements({
      realm: 'acme',
      userId: alice.id,
      ip: '127.0.0.1',
      userAgent: 'test',
      rememberMe: false,
      settings: (await issuerOf(site)).settings,
      impersonator: adminId,
    })
    await areas.storage.commit(opened.statements)
    const person = newPerson(site)
    person.jar.set('iam-session-acme', opened.cookieValue)
    const code = codeOf(await person.open(authorizeUrl(site, app, { scope: 'openid account' })))
    const first = (await exchange(site, app, code)).body
    const as = { client_id: app.clientId, client_secret: app.secret }
    const refreshed = (
      await site.post('/token', {
        ...as,
        grant_type: 'refresh_token',
        refresh_token: first.refresh_token,
      })
    ).body
    const exchanged = (
      await site.post('/token', {
        ...as,
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: first.id_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      })
    ).body
    for (const token of [
      first.access_token,
      first.id_token,
      refreshed.access_token,
      refreshed.id_token,
      exchanged.access_token,
    ])
      expect(claimsOf(token)).toMatchObject({ sub: alice.id, act: { sub: adminId } })
    const account = await site.get('/account/gdpr/consents', {
      authorization: `Bearer ${first.access_token}`,
    })
    expect(account.status).toBe(401)

    for (const token of [exchanged.access_token, first.refresh_token])
      expect((await site.post('/revoke', { ...as, token })).status).toBe(200)
    const events = async (type: string) =>
      (await site.admin('GET', `/events?type=${type}`)).body.items.filter(
        ({ outcome }: { outcome: string }) => outcome === 'SUCCESS',
      )
    const types = ['CODE_TO_TOKEN', 'REFRESH_TOKEN', 'TOKEN_EXCHANGE', 'REVOKE_GRANT']
    for (const type of types) {
      const found = await events(type)
      expect(found.length, type).toBeGreaterThan(0)
      for (const event of found)
        expect(event, type).toMatchObject({ actor: adminId, onBehalfOf: alice.id })
    }
  })

  it('name the user alone where the user acts, also for a client that acts for the user', async () => {
    const bob = await addUser(site, { username: 'bob' })
    const { grant } = await issueGrant(site, app, bob)
    const token = await accessTokenOf(site, app, bob, grant)
    const exchanged = await site.post('/token', {
      client_id: app.clientId,
      client_secret: app.secret,
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    expect(exchanged.status).toBe(200)
    const [event] = (await site.admin('GET', '/events?type=TOKEN_EXCHANGE')).body.items
    expect(event).toMatchObject({ actor: bob.id })
    expect(event).not.toHaveProperty('onBehalfOf')
  })
})
