/** Signing out for a client (OIDC RP-Initiated Logout 1.0) and through the browser (Front-Channel Logout 1.0). */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  actionOf,
  addPerson,
  authorizeUrl,
  codeOf,
  exchange,
  hiddenFields,
  newPerson,
  type Page,
  type Person,
  redirectUri,
} from '../relying-party.ts'

const after = 'https://app.example/bye?from=iam'

describe.each(backends)('signing out on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let web: TestClient
  let other: TestClient
  let alice: Person

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const common = {
      grantTypes: ['authorization_code' as const, 'refresh_token' as const],
      redirectUris: [redirectUri],
      scopes: ['offline_access'],
    }
    web = await site.client({
      clientId: 'web',
      name: 'The Shop',
      ...common,
      postLogoutRedirectUris: [after, 'https://app.example/plain'],
    })
    other = await site.client({
      clientId: 'other',
      ...common,
      postLogoutRedirectUris: ['https://other.example/bye'],
      frontchannelLogout: true,
      frontchannelLogoutUri: 'https://other.example/front?x=1',
    })
    await addPerson(site, 'alice')
    await addPerson(site, 'bob')
  })
  afterAll(() => site.close())
  beforeEach(() => {
    alice = newPerson(site)
  })

  /** Signs in for the client; what the token endpoint answers. */
  const signIn = async (person: Person, client: TestClient = web, username = 'alice') => {
    const page = await person.signIn(authorizeUrl(site, client), username)
    return (await exchange(site, client, codeOf(page))).body
  }
  const logoutUrl = (query: Readonly<Record<string, string>>): string =>
    `${site.issuer}/logout?${new URLSearchParams(query)}`
  const isSignedIn = async (person: Person): Promise<boolean> =>
    !(await person.open(`${site.issuer}/login`)).body.includes('name="password"')
  const isAlive = async (refresh_token: string, { clientId, secret }: TestClient = web) => {
    const fields = { token: refresh_token, client_id: clientId, client_secret: secret }
    return (await site.post('/introspect', fields)).body.active
  }
  const isQuestion = ({ status, body }: Page) => status === 200 && body.includes('name="_csrf"')

  it('ends the session on the word of its id token, with what it issued, and goes back', async () => {
    const { id_token, refresh_token, access_token } = await signIn(alice)
    const { sub } = claimsOf(id_token)
    const page = await alice.open(
      logoutUrl({ id_token_hint: id_token, post_logout_redirect_uri: after, state: 'a&b=c' }),
    )
    expect(page.away).toBe(`${after}&state=a%26b%3Dc`)
    expect(await isSignedIn(alice)).toBe(false)
    expect(await isAlive(refresh_token)).toBe(false)
    const info = await site.get('/userinfo', { authorization: `Bearer ${access_token}` })
    expect(info.status).toBe(401)
    const [event] = await site.events('LOGOUT')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: sub })
  })

  it('leaves offline grants', async () => {
    const url = authorizeUrl(site, web, { scope: 'openid offline_access', prompt: 'consent' })
    const asked = await alice.signIn(url)
    const page = asked.away ? asked : await alice.submit(asked, { decision: 'allow' })
    const { body } = await exchange(site, web, codeOf(page))
    await alice.open(logoutUrl({ id_token_hint: body.id_token }))
    expect(await isSignedIn(alice)).toBe(false)
    expect(await isAlive(body.refresh_token)).toBe(true)
  })

  it('accepts an id token that has expired, of this session', async () => {
    const { id_token } = await signIn(alice)
    now += 20 * 60_000
    expect(await isSignedIn(alice)).toBe(true)
    const query = { id_token_hint: id_token, post_logout_redirect_uri: after }
    expect((await alice.open(logoutUrl(query))).away).toBe(after)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('asks where the id token is of an earlier session or another user (dex#4945)', async () => {
    const leaked = (await signIn(alice)).id_token
    await alice.open(logoutUrl({ id_token_hint: leaked }))
    await signIn(alice)
    const bob = newPerson(site)
    await signIn(bob, web, 'bob')
    for (const person of [alice, bob]) {
      const page = await person.open(
        logoutUrl({ id_token_hint: leaked, post_logout_redirect_uri: after }),
      )
      expect(isQuestion(page)).toBe(true)
      expect(await isSignedIn(person)).toBe(true)
    }
  })

  it('is nothing that a HEAD does (RFC 9110 §9.2.1)', async () => {
    const { id_token } = await signIn(alice)
    const cookie = [...alice.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const url = logoutUrl({ id_token_hint: id_token })
    const { status, headers } = await fetch(url, { method: 'HEAD', headers: { cookie } })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, POST'])
    expect(await isSignedIn(alice)).toBe(true)
  })

  it('asks where there is no id token, and does it once the user agrees', async () => {
    const { refresh_token } = await signIn(alice)
    const page = await alice.open(
      logoutUrl({ client_id: 'web', post_logout_redirect_uri: after, state: 's' }),
    )
    expect(isQuestion(page)).toBe(true)
    expect(page.body).toContain('The Shop')
    expect(page.body).toContain('alice')
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https:")
    expect(await isAlive(refresh_token)).toBe(true)
    const done = await alice.submit(page, {})
    expect(done.away).toBe(`${after}&state=s`)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('refuses a form that is not from this session (CSRF)', async () => {
    await signIn(alice)
    const bob = newPerson(site)
    await signIn(bob, web, 'bob')
    const page = await bob.open(`${site.issuer}/logout`)
    const forged = new URL(actionOf(page.body), site.issuer).href
    for (const _csrf of [hiddenFields(page.body)['_csrf'] ?? '', 'x', ''])
      expect((await alice.open(forged, { _csrf })).status).toBe(403)
    expect(await isSignedIn(alice)).toBe(true)
  })

  it('takes a POST of a client, which comes without cookies, by way of a GET', async () => {
    const { id_token } = await signIn(alice)
    const { status, headers } = await site.post('/logout', {
      id_token_hint: id_token,
      post_logout_redirect_uri: after,
      state: 's',
    })
    expect(status).toBe(303)
    const location = headers.get('location') ?? ''
    // The id token would stay in logs and histories.
    expect(location).toMatch(/^\/realms\/acme\/logout\/[\w-]{43}$/)
    const page = await alice.open(new URL(location, site.issuer).href)
    expect(page.away).toBe(`${after}&state=s`)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('takes a POST that no address has room for', async () => {
    const { id_token } = await signIn(alice)
    const state = 's'.repeat(4096)
    const asked = { post_logout_redirect_uri: after, state, ui_locales: 'de '.repeat(2000) }
    const fields = { id_token_hint: id_token, ...asked }
    const { headers } = await site.post('/logout', fields)
    const page = await alice.open(new URL(headers.get('location') ?? '', site.issuer).href)
    expect(page.away).toBe(`${after}&state=${state}`)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('asks after a POST without an id token, and refuses a wrong one at once', async () => {
    await signIn(alice)
    const { headers } = await site.post('/logout', {})
    const page = await alice.open(new URL(headers.get('location') ?? '', site.issuer).href)
    expect(isQuestion(page)).toBe(true)
    const wrong = await site.post('/logout', { id_token_hint: 'x' })
    expect([wrong.status, wrong.headers.get('location')]).toEqual([400, null])
    expect(await isSignedIn(alice)).toBe(true)
  })

  it('takes no cookie away by a POST of another site, whatever the form holds (RFC 6265bis §5.8.3)', async () => {
    await signIn(alice)
    for (const fields of [{ _csrf: 'x' }, { _csrf: 'x', client_id: 'web' }, { client_id: 'web' }]) {
      const { status, headers } = await site.post('/logout', fields)
      expect([status, headers.getSetCookie()]).toEqual([303, []])
      const page = await alice.open(new URL(headers.get('location') ?? '', site.issuer).href)
      expect(isQuestion(page)).toBe(true)
    }
    expect(await isSignedIn(alice)).toBe(true)
  })

  it('refuses the sign-out of a service by a refresh token, as at Keycloak, and keeps no secret of a form', async () => {
    const { db } = site.server.areas.storage
    const stored = () => db.selectFrom('logout_requests').select('data').execute()
    const before = (await stored()).length
    const { refresh_token } = await signIn(alice)
    const as = { client_id: 'web', client_secret: web.secret }
    const { status, body } = await site.post('/logout', { ...as, refresh_token })
    expect([status, body.includes('takes no refresh_token')]).toEqual([400, true])
    expect((await stored()).length).toBe(before)
    expect(await isAlive(refresh_token)).toBe(true)
    await site.post('/logout', { ...as, state: 'back', whatever: 'x' })
    expect((await stored()).map(({ data }) => data)).toContain('"client_id=web&state=back"')
    expect(JSON.stringify(await stored())).not.toContain(web.secret)
  })

  it('stores little of what anybody may post, and a network may not fill the database with it (CWE-770)', async () => {
    const { app, areas } = site.server
    const { db } = areas.storage
    const longest = async () => {
      const rows = await db.selectFrom('logout_requests').select('data').execute()
      return Math.max(...rows.map(({ data }) => data.length))
    }
    const fields = { state: 's'.repeat(4096), ui_locales: 'x'.repeat(50_000) }
    expect((await site.post('/logout', fields)).status).toBe(303)
    expect(await longest()).toBeLessThan(6000)
    const from = async (remoteAddress: string) => {
      const url = new URL(`${site.issuer}/logout`).pathname
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return app.inject({ method: 'POST', url, headers, payload: 'state=s', remoteAddress })
    }
    const sent = Array.from({ length: 320 }, (_, n) => from(`2001:db8:1:2::${n.toString(16)}`))
    const refused = (await Promise.all(sent)).filter(({ statusCode }) => statusCode !== 303)
    expect(refused.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(429))
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
    expect((await from('2001:db8:1:3::1')).statusCode).toBe(303)
  })

  it('forgets what was posted after ten minutes, and knows it in its realm alone', async () => {
    const { id_token } = await signIn(alice)
    const { headers } = await site.post('/logout', { id_token_hint: id_token })
    const url = new URL(headers.get('location') ?? '', site.issuer).href
    expect((await alice.open(url.replace('/acme/', '/master/'))).status).toBe(400)
    now += 600_000
    expect((await alice.open(url)).status).toBe(400)
    expect(await isSignedIn(alice)).toBe(true)
    const { areas } = site.server
    await tidy(areas)
    const rows = await areas.storage.db.selectFrom('logout_requests').selectAll().execute()
    expect(rows).toEqual([])
  })

  it.each([
    'https://app.example/bye',
    'https://app.example/bye?from=iam&x=1',
    'https://app.example/BYE?from=iam',
    'https://app.example/plain/',
    'https://app.example/plain#x',
    'https://app.example:443/plain',
    'https://app.example/./plain',
    'https://app.example@evil.example/plain',
    'https://app.example.evil.example/plain',
    'https://evil.example\\@app.example/plain',
    '//evil.example/plain',
    'https://other.example/bye',
    'JavaScript:alert(1)',
  ])('leads nowhere but to what is registered: %s', async (uri) => {
    const { id_token } = await signIn(alice)
    const page = await alice.open(
      logoutUrl({ id_token_hint: id_token, post_logout_redirect_uri: uri }),
    )
    expect([page.status, page.away]).toEqual([400, undefined])
    expect(page.body).not.toContain(`href="${uri}`)
    expect(await isSignedIn(alice)).toBe(true)
  })

  it('refuses an address without a client, foreign hints and parameters that stand twice', async () => {
    const { id_token, access_token } = await signIn(alice)
    const tampered = `${id_token.slice(0, -6)}AAAAAA`
    const back = `post_logout_redirect_uri=${encodeURIComponent(after)}`
    for (const [query, reason] of [
      [back, 'a post_logout_redirect_uri needs an id_token_hint or a client_id'],
      [`id_token_hint=${id_token}&client_id=other`, 'the id_token_hint is of another client'],
      [`id_token_hint=${tampered}`, 'the id_token_hint is not an id token of this realm'],
      [`id_token_hint=${access_token}`, 'the id_token_hint is not an id token of this realm'],
      ['id_token_hint=x', 'the id_token_hint is not an id token of this realm'],
      [`client_id=web&client_id=other`, 'client_id'],
      [`client_id=nobody&${back}`, 'there is no such client'],
      [`client_id=other&${back}`, 'is not one that the client registered'],
      [
        `client_id=web&${back}&state=${'s'.repeat(4097)}`,
        'the state is longer than 4096 characters',
      ],
    ] as const) {
      const { status, body } = await alice.open(`${site.issuer}/logout?${query}`)
      expect(status, query).toBe(400)
      expect(body, query).toContain(reason)
      expect(body, query).toContain('The sign-out request is wrong')
      expect(body, query).not.toMatch(/cannot be signed in|Sign in/)
    }
    expect(await isSignedIn(alice)).toBe(true)
    expect((await site.get('/logout')).status).toBe(200)
    const gone = await fetch(`${site.server.baseUrl}/realms/nowhere/logout`)
    expect(gone.status).toBe(404)
  })

  it('frames the pages of clients that want it, and nothing else', async () => {
    await signIn(alice)
    const { id_token } = await signIn(alice, other)
    const { sid } = claimsOf(id_token)
    const page = await alice.open(
      logoutUrl({
        id_token_hint: id_token,
        post_logout_redirect_uri: 'https://other.example/bye',
        state: 's',
      }),
    )
    expect(page.status).toBe(200)
    const [, src = ''] = /<iframe src="([^"]*)"/.exec(page.body) ?? []
    const frame = new URL(src.replaceAll('&amp;', '&'))
    expect(`${frame.origin}${frame.pathname}`).toBe('https://other.example/front')
    expect(Object.fromEntries(frame.searchParams)).toEqual({ x: '1', iss: site.issuer, sid })
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain('frame-src https://other.example;')
    expect(page.headers.get('refresh')).toBe('3;url=https://other.example/bye?state=s')
    expect(await isSignedIn(alice)).toBe(false)
  })

  it("ends with the form of the realm's own page, as iamctl does", async () => {
    await alice.signIn(`${site.issuer}/login`)
    const page = await alice.open(`${site.issuer}/login`)
    const cookie = [...alice.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const { status, headers } = await site.post('/logout', hiddenFields(page.body), { cookie })
    expect([status, headers.get('location')]).toEqual([303, '/realms/acme/logout'])
    const told = await alice.open(`${site.issuer}/logout`)
    expect([told.status, told.body.includes('You are signed out')]).toEqual([200, true])
    expect(headers.getSetCookie().join()).toMatch(/iam-session-acme=;/)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('speaks the language that is asked for, on every page (RP-Initiated Logout §2)', async () => {
    const languageOf = ({ body }: Page) => /<html lang="([^"]*)"/.exec(body)?.[1]
    const asked = { ui_locales: 'xx de', client_id: 'web' }
    await signIn(alice)
    const question = await alice.open(logoutUrl(asked))
    const wrong = await alice.open(logoutUrl({ ...asked, id_token_hint: 'x' }))
    const posted = await alice.open(`${site.issuer}/logout`, { ...asked, id_token_hint: 'x' })
    const done = await alice.submit(question, {})
    const again = await alice.open(logoutUrl(asked))
    const pages = [question, wrong, posted, done, again]
    expect(pages.map(({ status }) => status)).toEqual([200, 400, 400, 200, 200])
    expect(pages.map(languageOf)).toEqual(pages.map(() => 'de'))
  })

  it('is in the metadata', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body).toMatchObject({
      end_session_endpoint: `${site.issuer}/logout`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
    })
  })
})
