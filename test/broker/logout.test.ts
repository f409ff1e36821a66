/** Logouts at an identity provider end sessions here, and ours go there. */

import type { JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { originOf } from '#server/broker/sessions/upstream-sessions.ts'
import { backends } from '../support/backends.ts'
import { type Broker, openBrokerRealm } from './trips.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'

describe.each(backends)('a logout across an identity provider on $name', (backend) => {
  let realm: Broker
  let partner: Upstream
  let count = 0

  beforeAll(async () => {
    ;[realm, partner] = await Promise.all([openBrokerRealm(backend), startUpstream()])
    partner.now = () => realm.clock.now()
    await realm.must('POST', '/identity-providers', {
      alias: 'partner',
      protocol: 'oidc',
      config: { issuer: partner.issuer, clientId: 'us', clientSecret: 'a secret of ours' },
    })
  })
  afterAll(async () => {
    await realm.close()
    await partner.close()
  })

  /** A session of a new user that came from this session there. */
  const signIn = async (
    sub: string,
    sid: string | undefined,
    { alias = 'partner', ...claims }: Record<string, string> = {},
  ) => {
    count += 1
    const identity = await realm.trip(alias, partner, { sub, sid, ...claims })
    const { userId } = await realm.must('POST', '/users', { username: `user-${count}` })
    const { areas } = realm.server
    const { view, settings } = await realm.issuer()
    const provider = await areas.broker.providers.find(view, alias, { kind: 'link' })
    const opened = areas.sessions.openStatements({
      realm: 'shop',
      userId,
      ip: '127.0.0.1',
      userAgent: undefined,
      rememberMe: false,
      settings,
    })
    await areas.storage.commit([
      ...opened.statements,
      areas.broker.sessions.opened(opened.session, originOf(provider?.id ?? '', identity)),
    ])
    const isAlive = async () =>
      (await areas.sessions.findBySid('shop', opened.session.sid, settings)) !== undefined
    return { isAlive, cookie: opened.cookieValue, idToken: identity.session?.idToken, userId }
  }

  const claims = (change: Record<string, unknown> = {}): JWTPayload => {
    const now = Math.floor(realm.clock.now() / 1000)
    count += 1
    return {
      iss: partner.issuer,
      aud: 'us',
      iat: now,
      exp: now + 120,
      jti: `j-${count}`,
      events: { [event]: {} },
      ...change,
    }
  }
  const tell = async (token: string, alias = 'partner') =>
    fetch(`${realm.server.baseUrl}/realms/shop/broker/${alias}/logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    })

  it('ends the session that came from the session there, and no other', async () => {
    const [one, other] = [await signIn('ada', 's-1'), await signIn('bob', 's-2')]
    const answer = await tell(await partner.sign(claims({ sid: 's-1' }), { typ: 'logout+jwt' }))
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect([await one.isAlive(), await other.isAlive()]).toEqual([false, true])
    const { items } = await realm.must('GET', '/events?type=LOGOUT')
    expect(JSON.stringify(items)).toContain('identity provider partner')
  })

  it('takes a token whose times have fractions, once (RFC 7519 §2)', async () => {
    const one = await signIn('kim', 's-fraction')
    const iat = realm.clock.now() / 1000 - 0.123_456_7
    const token = await partner.sign(claims({ sid: 's-fraction', iat, exp: iat + 120 }))
    expect([(await tell(token)).status, await one.isAlive()]).toEqual([200, false])
    expect((await tell(token)).status).toBe(400)
  })

  it('ends all sessions of a subject where no session is named', async () => {
    const [one, two] = [await signIn('eve', 's-3'), await signIn('eve', 's-4')]
    expect((await tell(await partner.sign(claims({ sub: 'eve' })))).status).toBe(200)
    expect([await one.isAlive(), await two.isAlive()]).toEqual([false, false])
  })

  it('ends a session that came without an id there, where the token names subject and session', async () => {
    const [one, other] = [await signIn('flo', undefined), await signIn('flo', 's-8')]
    const token = await partner.sign(claims({ sub: 'flo', sid: 's-9' }))
    expect((await tell(token)).status).toBe(200)
    expect([await one.isAlive(), await other.isAlive()]).toEqual([false, true])
  })

  it('ends sessions of Microsoft by sub alone, though tenant and object are the key of the link', async () => {
    const issuerOf = (tid: unknown) => `${partner.url}/${String(tid)}/v2.0`
    partner.lies = {
      discovery: (truth) => ({ ...truth, issuer: issuerOf('{tenantid}') }),
      idToken: (truth) => ({ ...truth, iss: issuerOf(truth['tid']) }),
    }
    await realm.must('POST', '/identity-providers', {
      alias: 'entra',
      protocol: 'microsoft',
      config: {
        clientId: 'us',
        clientSecret: 'a secret of ours',
        discoveryUrl: `${partner.url}/.well-known/openid-configuration?entra`,
      },
    })
    const [tenant, stranger] = ['1111', '2222']
    const one = await signIn('pairwise', 's-10', { alias: 'entra', tid: tenant, oid: 'object' })
    const other = await signIn('pairwise', 's-11', { alias: 'entra', tid: stranger, oid: 'other' })
    const byObject = claims({ iss: issuerOf(tenant), sub: 'object' })
    expect((await tell(await partner.sign(byObject), 'entra')).status).toBe(200)
    expect(await one.isAlive()).toBe(true)
    const elsewhere = claims({ iss: 'https://evil.example/1111/v2.0', sub: 'pairwise' })
    expect((await tell(await partner.sign(elsewhere), 'entra')).status).toBe(400)
    const bySub = claims({ iss: issuerOf(tenant), sub: 'pairwise' })
    expect((await tell(await partner.sign(bySub), 'entra')).status).toBe(200)
    expect([await one.isAlive(), await other.isAlive()]).toEqual([false, true])
    partner.lies = {}
  })

  it('ends no session of another alias or realm, whose provider has the same issuer and client', async () => {
    const config = { issuer: partner.issuer, clientId: 'us', clientSecret: 'a secret of ours' }
    const twin = { alias: 'twin', protocol: 'oidc', config }
    await realm.must('POST', '/identity-providers', twin)
    const { admin, createRealm, baseUrl } = realm.server
    const other = await createRealm('mall')
    await admin.send('POST', `${other}/identity-providers`, { ...twin, alias: 'partner' })
    const { isAlive } = await signIn('gus', 's-20')
    for (const subject of [{ sid: 's-20' }, { sub: 'gus' }, { sub: 'gus', sid: 's-20' }]) {
      expect((await tell(await partner.sign(claims(subject)), 'twin')).status).toBe(200)
      const elsewhere = await fetch(`${baseUrl}/realms/mall/broker/partner/logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: await partner.sign(claims(subject)) }),
      })
      expect(elsewhere.status).toBe(200)
    }
    expect(await isAlive()).toBe(true)
    expect((await tell(await partner.sign(claims({ sid: 's-20' })))).status).toBe(200)
    expect(await isAlive()).toBe(false)
  })

  it('refuses a token that is not for us, is no logout token, or was presented before', async () => {
    const { isAlive } = await signIn('dan', 's-5')
    const wrong: Record<string, unknown>[] = [
      { iss: 'https://evil.example' },
      { aud: 'them' },
      { events: {} },
      { events: undefined },
      { nonce: 'n' },
      { jti: undefined },
      { jti: 5 },
      { sid: 'a\0b' },
      { sid: undefined },
      { iat: Math.floor(realm.clock.now() / 1000) - 600 },
    ]
    for (const change of wrong)
      expect((await tell(await partner.sign(claims({ sid: 's-5', ...change })))).status).toBe(400)
    expect((await tell('x.y.z')).status).toBe(400)
    expect(await isAlive()).toBe(true)
    const token = await partner.sign(claims({ sid: 's-5' }))
    expect((await tell(token)).status).toBe(200)
    expect((await tell(token)).status).toBe(400)
    expect((await tell(token, 'nowhere')).status).toBe(404)
  })

  /** The sign-out page of the realm, and its button. */
  const signOut = async (sessionCookie: string): Promise<Response> => {
    const url = `${realm.server.baseUrl}/realms/shop/logout`
    const headers = { cookie: `iam-session-shop=${sessionCookie}` }
    const page = await (await fetch(url, { headers })).text()
    const csrf = /name="_csrf" value="([^"]+)"/.exec(page)?.[1] ?? 'none'
    expect(csrf).not.toBe('none')
    const body = new URLSearchParams({ _csrf: csrf })
    return fetch(url, { method: 'POST', redirect: 'manual', headers, body })
  }

  it('goes there when the user signs out here, and comes back once', async () => {
    const { cookie, idToken = '', isAlive } = await signIn('fay', 's-6')
    const { baseUrl } = realm.server
    const left = await signOut(cookie)
    expect(left.status, await left.text()).toBe(303)
    const trip = left.headers.getSetCookie().find((one) => one.startsWith('iam-broker-shop=')) ?? ''
    const browser = { cookie: trip.split(';')[0] ?? '' }
    // A page of ours leads there: the form of the sign-out may lead to this server alone.
    const leaving = left.headers.get('location') ?? ''
    const body = await (await fetch(leaving, { headers: browser })).text()
    const there = new URL(
      /href="([^"]*id_token_hint[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '',
    )
    const stranger = await fetch(leaving, { redirect: 'manual' })
    expect([stranger.status, stranger.headers.get('location')]).toEqual([
      303,
      '/realms/shop/logout',
    ])
    expect(there.origin + there.pathname).toBe(`${partner.url}/end`)
    expect(Object.fromEntries(there.searchParams)).toMatchObject({
      id_token_hint: idToken,
      client_id: 'us',
      post_logout_redirect_uri: `${baseUrl}/realms/shop/broker/partner/logout`,
    })
    expect(await isAlive()).toBe(false)
    const state = there.searchParams.get('state') ?? ''
    const back = (headers: Record<string, string>) =>
      fetch(`${baseUrl}/realms/shop/broker/partner/logout?state=${state}`, {
        redirect: 'manual',
        headers,
      })
    const answer = await back(browser)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/realms/shop/logout'])
    expect((await fetch(leaving, { redirect: 'manual', headers: browser })).status).toBe(303)
  })

  it('does not wait for a provider that does not answer', async () => {
    const { cookie, isAlive } = await signIn('gil', 's-7')
    partner.lies = {
      answer: (_path, response) => {
        response.writeHead(503).end()
        return true
      },
    }
    // An address that nothing was read from before.
    await realm.must('PUT', '/identity-providers/partner', {
      alias: 'partner',
      protocol: 'oidc',
      config: {
        clientId: 'us',
        clientSecret: 'a secret of ours',
        discoveryUrl: `${partner.url}/elsewhere`,
      },
    })
    const left = await signOut(cookie)
    partner.lies = {}
    expect([left.status, left.headers.get('location')]).toEqual([303, '/realms/shop/logout'])
    expect(await isAlive()).toBe(false)
  })
})
