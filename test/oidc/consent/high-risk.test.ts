/** High-risk scopes of applications: confirmed each time after a recent sign-in, for minutes, and never refreshed. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { basic, claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  type Page,
  type Person,
  password,
  redirectUri,
} from '../relying-party.ts'

const minute = 60_000
const tokenType = 'urn:ietf:params:oauth:token-type'

describe.each(backends)('a high-risk scope on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let shop: TestClient
  let person: Person

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    await site.admin('POST', '/client-scopes', {
      name: 'payments',
      description: 'Payments in your name',
      highRisk: true,
    })
    shop = await site.client({
      clientId: 'shop',
      grantTypes: [
        'authorization_code',
        'refresh_token',
        'password',
        'token-exchange',
        'device',
        'CIBA',
      ],
      redirectUris: [redirectUri],
      scopes: ['profile', 'payments', 'offline_access'],
      accessTokenLifespan: 1800,
    })
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())
  beforeEach(async () => {
    person = newPerson(site)
    await person.signIn(`${site.issuer}/login`)
  })

  const url = (asked = {}) => authorizeUrl(site, shop, { scope: 'openid payments', ...asked })
  const tokensOf = async (page: Page) => (await exchange(site, shop, codeOf(page))).body
  const isQuestion = ({ body }: Page): boolean =>
    body.includes('Payments in your name') && body.includes('Only this once')

  it('is asked for on a page each time, also of a client that needs no consent', async () => {
    codeOf(await person.open(url({ scope: 'openid profile' })))
    for (const _ of [1, 2]) {
      const page = await person.open(url())
      expect(isQuestion(page)).toBe(true)
      codeOf(await person.submit(page, { decision: 'allow' }))
    }
    expect(answerOf(await person.open(url({ prompt: 'none' })))['error']).toBe('consent_required')
    const refused = await person.submit(await person.open(url()), { decision: 'deny' })
    expect(answerOf(refused)['error']).toBe('access_denied')
    const [denied, allowed] = await site.events('GRANT_CONSENT')
    expect(denied).toMatchObject({ outcome: 'FAILURE' })
    expect(allowed).toMatchObject({ outcome: 'SUCCESS', detail: 'openid payments' })
  })

  it('wants a recent sign-in before the question and before the answer', async () => {
    const page = await person.open(url())
    now += 6 * minute
    expect(answerOf(await person.open(url({ prompt: 'none' })))['error']).toBe('login_required')
    const late = await person.submit(page, { decision: 'allow' })
    expect(late.body).toContain('name="password"')
    const again = await person.submit(late, { username: 'alice', password })
    expect(isQuestion(again)).toBe(true)
    const { id_token } = await tokensOf(await person.submit(again, { decision: 'allow' }))
    expect(claimsOf(id_token)['auth_time']).toBe(Math.floor(now / 1000))
    // A client cannot widen it.
    now += 6 * minute
    expect((await person.open(url({ max_age: '86400' }))).body).toContain('name="password"')
  })

  it('is in a token of five minutes, and not in what is refreshed', async () => {
    const page = await person.open(url({ scope: 'openid profile payments offline_access' }))
    const tokens = await tokensOf(await person.submit(page, { decision: 'allow' }))
    expect(tokens).toMatchObject({ scope: 'openid profile payments offline_access' })
    expect(tokens.expires_in).toBe(300)
    const refresh = (refresh_token: string, more = {}) =>
      site.post(
        '/token',
        { grant_type: 'refresh_token', refresh_token, ...more },
        basic(shop.clientId, shop.secret),
      )
    const refreshed = (await refresh(tokens.refresh_token)).body
    expect(refreshed).toMatchObject({ scope: 'openid profile offline_access', expires_in: 1800 })
    expect((await refresh(refreshed.refresh_token, { scope: 'payments' })).body).toMatchObject({
      error: 'invalid_scope',
      error_description: expect.stringContaining('payments'),
    })
    // The id token speaks for the grant: what was confirmed once does not come back by an exchange.
    const exchanged = await site.post(
      '/token',
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: refreshed.id_token ?? tokens.id_token,
        subject_token_type: `${tokenType}:id_token`,
      },
      basic(shop.clientId, shop.secret),
    )
    expect(exchanged.body.scope).toBe('openid profile')
  })

  it('is refused to the password grant, where nobody is asked', async () => {
    const { body } = await site.post(
      '/token',
      { grant_type: 'password', username: 'alice', password, scope: 'payments' },
      basic(shop.clientId, shop.secret),
    )
    expect(body).toMatchObject({
      error: 'invalid_scope',
      error_description: expect.stringContaining('payments'),
    })
  })

  it('is refused to an administrator who acts as the user', async () => {
    const page = await person.open(url())
    const { storage } = site.server.areas
    const taken = storage.db.updateTable('sessions').set({ impersonator: site.server.admin.userId })
    await storage.commit([statement(taken)])
    expect(answerOf(await person.submit(page, { decision: 'allow' }))['error']).toBe(
      'access_denied',
    )
    expect(answerOf(await person.open(url()))['error']).toBe('access_denied')
    codeOf(await person.open(url({ scope: 'openid profile' })))
  })

  it('is allowed to a device after a recent sign-in', async () => {
    const { body } = await site.post(
      '/device',
      { scope: 'openid payments' },
      basic(shop.clientId, shop.secret),
    )
    now += 6 * minute
    const page = await person.open(body.verification_uri_complete)
    expect(isQuestion(page)).toBe(true)
    const late = await person.submit(page, { decision: 'allow' })
    expect(late.body).toContain('name="password"')
    const again = await person.submit(late, { username: 'alice', password })
    const done = await person.submit(again, { decision: 'allow' })
    expect(done.body).toContain('The device is connected')
    const tokens = await site.post(
      '/token',
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: body.device_code,
      },
      basic(shop.clientId, shop.secret),
    )
    expect(tokens.body).toMatchObject({ scope: 'openid payments', expires_in: 300 })
  })

  it('is allowed on the page for requests (CIBA) after a recent sign-in', async () => {
    const { body } = await site.post(
      '/backchannel-authentication',
      { scope: 'openid payments', login_hint: 'alice', requested_expiry: '600' },
      basic(shop.clientId, shop.secret),
    )
    const open = () => person.open(`${site.issuer}/approvals`)
    now += 6 * minute
    const late = await person.submit(await open(), { decision: 'allow' })
    expect(late.body).toContain('name="password"')
    const again = await person.submit(late, { username: 'alice', password })
    expect(again.body).toContain('Payments in your name')
    await person.submit(again, { decision: 'allow' })
    const tokens = await site.post(
      '/token',
      { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: body.auth_req_id },
      basic(shop.clientId, shop.secret),
    )
    expect(tokens.body.scope).toBe('openid payments')
  })
})
