/** Attacks on the authorization endpoint: unregistered redirects, ambiguous requests, and requests of another browser. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  change,
  codeOf,
  hiddenFields,
  newPerson,
  password,
  redirectUri,
} from '../relying-party.ts'

/** Each is close to `https://app.example/callback` for some parser or some kind of matching. */
const foreign = [
  'https://app.example/callback/',
  'https://app.example/callback?',
  'https://app.example/callback#',
  'https://app.example/callback#x',
  'https://app.example/callback?x=1',
  'https://app.example/callback?code=x&state=y',
  'https://app.example/callback/..',
  'https://app.example/callback/../callback',
  'https://app.example/x/../callback',
  'https://app.example/callback/..;/callback',
  'https://app.example/;/callback',
  'https://app.example/callback;x',
  'https://app.example/%63allback',
  'https://app.example/callback%2e',
  'https://app.example/%2e%2e/callback',
  'https://app.example/callback%00',
  'https://app.example//callback',
  'https://app.example\\callback',
  'https://app.example/callback\\@evil.example',
  'https://app.example\\@evil.example/callback',
  'https://app.example@evil.example/callback',
  'https://evil.example@app.example/callback',
  'https://user:pass@app.example/callback',
  'https://app.example:443/callback',
  'https://app.example:8443/callback',
  'https://app.example./callback',
  'https://APP.example/callback',
  'HTTPS://app.example/callback',
  'http://app.example/callback',
  '//app.example/callback',
  '/callback',
  'callback',
  'https:app.example/callback',
  'https:/app.example/callback',
  'https:///app.example/callback',
  'https://app.example.evil.example/callback',
  'https://fooapp.example/callback',
  'https://appxexample/callback',
  'https://evil.example/https://app.example/callback',
  'https://evil.example/?https://app.example/callback',
  'https://[::1]/callback',
  'https://[app.example/callback',
  'https://app.example:port/callback',
  'https://app.example%/callback',
  'https://127.0.0.1/callback',
  'https://аpp.example/callback',
  'https://app。example/callback',
  'https://app.example/callback\n',
  'https://app.example/callback\r\nSet-Cookie: a=b',
  ' https://app.example/callback',
  'https://app.example/callback ',
  'https://app.example/callback\t',
  'https://*.example/callback',
  'https://app.example/*',
  'javascript:alert(1)',
  'JavaScript:alert(1)//app.example/callback',
  'data:text/html,x',
  'about:blank',
]

describe.each(backends)('the authorization endpoint on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  let aliceId: string

  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'web',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    aliceId = await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  const isShown = async (url: string): Promise<void> => {
    const page = await newPerson(site).open(url)
    expect(page.away).toBeUndefined()
    expect(page.headers.get('location')).toBeNull()
    expect(page.status).toBe(400)
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.body).not.toContain('name="password"')
  }

  it.each(foreign)(
    'does not redirect to %j (CVE-2024-8883, CVE-2023-6291, CVE-2026-3872, CVE-2026-7504, CVE-2024-52289, CVE-2026-41569)',
    (uri) => isShown(authorizeUrl(site, client, { redirect_uri: uri })),
  )

  it('does not guess a redirect URI that is missing, and a client without any has none', async () => {
    await isShown(authorizeUrl(site, client, { redirect_uri: undefined }))
    const bare = await site.client({ clientId: 'bare', grantTypes: ['authorization_code'] })
    await isShown(authorizeUrl(site, bare))
    await isShown(authorizeUrl(site, bare, { redirect_uri: undefined }))
  })

  it('shows what is wrong with the client, and tells unknown from disabled to nobody', async () => {
    const off = await site.client({
      clientId: 'off',
      enabled: false,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    const pages = await Promise.all(
      [off, { clientId: 'nobody' }, { clientId: '' }, { clientId: '\0' }].map((one) =>
        newPerson(site).open(authorizeUrl(site, one)),
      ),
    )
    for (const page of pages) expect(page).toMatchObject({ status: 400 })
    const reasons = pages.slice(0, 2).map(({ body }) => /<dd>([^<]*)</.exec(body)?.[1])
    expect(reasons[0]).toBe(reasons[1])
  })

  it('keeps the query of a registered redirect URI, and adds to it', async () => {
    const uri = 'https://app.example/cb?tenant=a%2Fb&x'
    const tenant = await site.client({
      clientId: 'tenant',
      grantTypes: ['authorization_code'],
      redirectUris: [uri],
    })
    const page = await newPerson(site).signIn(authorizeUrl(site, tenant, { redirect_uri: uri }))
    expect(page.away?.startsWith(`${uri}&code=`)).toBe(true)
  })

  it('takes any port of a loopback address from a client that opts in, and from no other (RFC 8252 §7.3)', async () => {
    const uris = ['http://127.0.0.1/cb', 'http://[::1]:1000/cb', 'http://localhost/cb']
    const native = { publicClient: true, grantTypes: ['authorization_code'] as const }
    const open = await site.client({
      clientId: 'native',
      ...native,
      grantTypes: ['authorization_code'],
      redirectUris: uris,
      loopbackPorts: true,
    })
    const closed = await site.client({
      clientId: 'native-closed',
      ...native,
      grantTypes: ['authorization_code'],
      redirectUris: uris,
    })
    const good = [
      'http://127.0.0.1:5000/cb',
      'http://[::1]:65535/cb',
      'http://[::1]/cb',
      'http://localhost:5000/cb',
    ]
    for (const uri of good) {
      const page = await newPerson(site).open(authorizeUrl(site, open, { redirect_uri: uri }))
      // Known as its own, and told that PKCE is missing.
      expect(page.away?.startsWith(`${uri}?error=invalid_request`)).toBe(true)
      await isShown(authorizeUrl(site, closed, { redirect_uri: uri }))
    }
    for (const uri of [
      'http://localhost.evil.example:5000/cb',
      'http://LOCALHOST:5000/cb',
      'http://127.0.0.1:0/cb',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:080/cb',
      'http://127.0.0.1:/cb',
      'http://127.0.0.2:5000/cb',
      'http://127.1:5000/cb',
      'http://2130706433:5000/cb',
      'http://127.0.0.1:5000/cb/x',
      'http://127.0.0.1:5000@evil.example/cb',
      'https://127.0.0.1:5000/cb',
      'http://[0:0:0:0:0:0:0:1]:5000/cb',
      'http://[::ffff:127.0.0.1]:5000/cb',
    ])
      await isShown(authorizeUrl(site, open, { redirect_uri: uri }))
  })

  it.each([
    'client_id',
    'redirect_uri',
    'state',
    'scope',
    'response_type',
    'code_challenge',
    'prompt',
    'nonce',
    'never_heard_of',
  ])('refuses %s given twice, without asking which one counts', (name) =>
    isShown(`${authorizeUrl(site, client, { [name]: 'a' })}&${name}=b`),
  )

  it('passes over parameters that it does not know', async () => {
    const page = await newPerson(site).signIn(
      authorizeUrl(site, client, { extra: 'foobar', display: 'popup', claims_locales: 'se' }),
    )
    codeOf(page)
  })

  it('names its issuer in every answer, errors too (RFC 9207)', async () => {
    for (const asked of [{}, { prompt: 'none login' }, { response_type: 'none' }]) {
      const page = await newPerson(site).signIn(authorizeUrl(site, client, asked))
      expect(answerOf(page)['iss']).toBe(site.issuer)
    }
  })

  it('does not finish in one browser what another began (CVE-2026-7507, GHSA-vh7g-p26c-j2cw)', async () => {
    const mallory = newPerson(site)
    const form = await mallory.open(authorizeUrl(site, client))
    const handle = String(new URL(form.url).searchParams.get('authorization'))
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    const resumed = await alice.open(`${site.issuer}/authorize/${handle}`)
    expect([resumed.status, resumed.away]).toEqual([403, undefined])
    // The page that tells her that she is signed in, where nothing waits.
    const asked = await alice.open(`${site.issuer}/login?authorization=${handle}`)
    expect([asked.url, asked.away]).toEqual([`${site.issuer}/login`, undefined])
    const stranger = await newPerson(site).open(`${site.issuer}/login?authorization=${handle}`)
    expect([stranger.status, stranger.away]).toEqual([403, undefined])
    const csrf = alice.jar.get('XSRF-TOKEN') ?? ''
    const posted = await alice.open(`${site.issuer}/authorize/${handle}`, {
      decision: 'allow',
      _csrf: csrf,
    })
    expect(posted.status).toBe(403)
  })

  it('goes on after a sign-in to what waits for it, and to no address that a request names', async () => {
    const addresses = [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '../../x',
      'A'.repeat(43),
      '',
    ]
    for (const address of addresses) {
      const alice = newPerson(site)
      await alice.open(`${site.issuer}/login`)
      const query = new URLSearchParams({ authorization: address })
      expect((await alice.open(`${site.issuer}/login?${query}`)).status).toBe(403)
      const posted = await alice.open(`${site.issuer}/login?${query}`, {
        username: 'alice',
        password,
        _csrf: alice.jar.get('XSRF-TOKEN') ?? '',
      })
      expect(posted.status).toBe(403)
      expect(posted.away).toBeUndefined()
      expect([...alice.jar.keys()]).not.toContain('iam-session-acme')
    }
    const twice = await newPerson(site).open(`${site.issuer}/login?authorization=a&authorization=b`)
    expect(twice.status).toBe(403)
  })

  it('asks for the CSRF token of the sign-in form as ever', async () => {
    const alice = newPerson(site)
    const form = await alice.open(authorizeUrl(site, client))
    const { _csrf, ...others } = hiddenFields(form.body)
    expect(_csrf).toBeTruthy()
    const page = await alice.open(form.url, { ...others, username: 'alice', password, _csrf: 'x' })
    expect(page.status).toBe(403)
    expect(page.away).toBeUndefined()
  })

  it('finishes a request once', async () => {
    const alice = newPerson(site)
    const form = await alice.open(authorizeUrl(site, client))
    const handle = new URL(form.url).searchParams.get('authorization')
    codeOf(await alice.submit(form, { username: 'alice', password }))
    expect((await alice.open(`${site.issuer}/authorize/${handle}`)).status).toBe(403)
  })

  it('stops at once for a user, a client or a realm that is disabled on the way', async () => {
    const set = (path: string, fields: Record<string, unknown>) => change(site, path, fields)
    const attempt = async (disable: () => Promise<unknown>): Promise<string> => {
      const alice = newPerson(site)
      const form = await alice.open(authorizeUrl(site, client))
      await disable()
      const page = await alice.submit(form, { username: 'alice', password })
      expect(page.away).toBeUndefined()
      return String(page.status)
    }
    const cases: [string, string, string][] = [
      [`/users/${aliceId}`, 'enabled', '401'],
      [`/clients/${client.id}`, 'enabled', '400'],
    ]
    for (const [path, field, status] of cases) {
      expect(await attempt(() => set(path, { [field]: false }))).toBe(status)
      await set(path, { [field]: true })
    }
    expect(await attempt(() => set('/settings', { enabled: false }))).toBe('403')
    await set('/settings', { enabled: true })
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    await set(`/users/${aliceId}`, { enabled: false })
    const page = await alice.open(authorizeUrl(site, client, { prompt: 'none' }))
    expect(answerOf(page)['error']).toBe('login_required')
    await set(`/users/${aliceId}`, { enabled: true })
  })

  it('does not go on to a redirect URI that was taken away in between', async () => {
    const moving = await site.client({
      clientId: 'moving',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    const alice = newPerson(site)
    const form = await alice.open(authorizeUrl(site, moving))
    await change(site, `/clients/${moving.id}`, { redirectUris: ['https://new.example/'] })
    const page = await alice.submit(form, { username: 'alice', password })
    expect(page).toMatchObject({ status: 400 })
    expect(page.away).toBeUndefined()
  })

  it.each([
    ['a prompt again and again', { prompt: 'login '.repeat(10_000) }],
    ['a level again and again', { acr_values: '1 '.repeat(30_000) }],
    ['a name', { login_hint: 'x'.repeat(60_000) }],
    ['languages', { ui_locales: 'en '.repeat(20_000) }],
    ['an organization', { organization: 'x'.repeat(60_000) }, 'organization'],
    ['an organization in the scope', { scope: `openid organization:${'x'.repeat(60_000)}` }],
    ['a claim', { claims: JSON.stringify({ userinfo: { ['x'.repeat(60_000)]: null } }) }, 'claims'],
    [
      'a subject',
      { claims: JSON.stringify({ id_token: { sub: { value: 'x'.repeat(60_000) } } }) },
      'claims',
    ],
  ])(
    'keeps little of what anybody can post: %s (CWE-770)',
    async (_name, asked, refused?: string) => {
      const { db } = site.server.areas.storage
      const sizes = async () => {
        const rows = await db.selectFrom('authorizations').select('data').execute()
        return rows.map(({ data }) => data.length).sort((a, b) => a - b)
      }
      const form = new URL(authorizeUrl(site, client, asked)).search.slice(1)
      const { status, headers } = await site.post('/authorize', form)
      expect(status).toBe(303)
      expect((await sizes()).at(-1) ?? 0).toBeLessThan(10_000)
      if (refused === undefined) return
      const answer = new URL(headers.get('location') ?? '').searchParams
      expect(answer.get('error')).toBe('invalid_request')
      expect(answer.get('error_description')).toContain(`the ${refused}`)
    },
  )
})
