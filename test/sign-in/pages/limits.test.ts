import { afterEach, describe, expect, it } from 'vitest'
import { createBruteForce } from '#server/credentials/guessing/brute-force.ts'
import { loadEngine } from '#server/platform/passwords/engine.ts'
import { createHasher } from '#server/platform/passwords/hasher.ts'
import { backends, type OpenBackend } from '../../support/backends.ts'
import { addUser, createCountingHasher, defaultSettings } from '../../users/fixture.ts'
import { openSite, type Site, TestBrowser, withoutChallenge } from '../fixture.ts'

const PASSWORD = 'right password'

describe.each(backends)('what the sign-in form withstands on $name', (backend) => {
  const started: { close: () => Promise<void> }[] = []
  afterEach(async () => {
    for (const one of started.splice(0).reverse()) await one.close()
  })
  const start = async (
    parts: Parameters<typeof openSite>[1] = {},
  ): Promise<{ open: OpenBackend; site: Site; browser: TestBrowser }> => {
    const open = await backend.open()
    started.push(open)
    const site = await openSite(open.storage, parts)
    started.push(site)
    await site.realm('shop')
    await addUser(site, 'shop', { username: 'anna', password: PASSWORD })
    return { open, site, browser: new TestBrowser(site.url) }
  }
  const guards = async ({ storage }: OpenBackend): Promise<string[]> => {
    const rows = await storage.db
      .selectFrom('login_guards')
      .select('subject')
      .where('failures', '>', 0)
      .orderBy('subject')
      .execute()
    return rows.map(({ subject }) => subject).filter((subject) => subject.startsWith('addr:'))
  }

  it('evaluates at most the limit of many parallel wrong forms, then lets nobody in', async () => {
    const { site, browser } = await start({ hasher: createCountingHasher(2) })
    await browser.get('/realms/shop/login')
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const send = (password: string) =>
      browser.post('/realms/shop/login', { username: 'anna', password, _csrf })
    const answers = await Promise.all(Array.from({ length: 60 }, () => send('wrong')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect(new Set(answers.map(({ body }) => withoutChallenge(body))).size).toBe(1)
    expect(site.hasher.evaluated).toBe(10)
    expect((await send(PASSWORD)).status).toBe(401)
    site.clock.advance(60)
    expect((await send(PASSWORD)).status).toBe(303)
  })

  it('lets somebody else in while 200 wrong forms for one user are on their way (GHSA-7h8m-vrxx-vr4m, keycloak#48272)', async () => {
    const { site, browser } = await start({
      hasher: createCountingHasher(2),
      trustedProxies: '127.0.0.1/32',
    })
    await addUser(site, 'shop', { username: 'bob', password: PASSWORD })
    await browser.get('/realms/shop/login')
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const cookie = browser.cookieHeader()
    const send = (username: string, password: string, address: string) =>
      new TestBrowser(site.url).post(
        '/realms/shop/login',
        { username, password, _csrf },
        { 'x-forwarded-for': address, cookie },
      )
    const wrong = Promise.all(
      Array.from({ length: 200 }, (_, index) => send('anna', 'wrong', `198.51.100.${index}`)),
    )
    const right = await Promise.all(
      Array.from({ length: 10 }, () => send('bob', PASSWORD, '203.0.113.7')),
    )
    expect(right.map(({ status }) => status)).toEqual(Array(10).fill(303))
    expect(new Set((await wrong).map(({ status }) => status))).toEqual(new Set([401]))
    expect(site.hasher.evaluated).toBe(10 + 10)
  })

  it('answers 503 with Retry-After when nothing can be evaluated', async () => {
    const { site, browser, open } = await start({ maxWaitMs: 0 })
    await site.realm('shop', { failureFactor: 1 })
    const user = await site.users.find('shop', 'anna')
    await createBruteForce({ storage: open.storage, clock: site.clock }).reserve({
      realm: 'shop',
      userId: user?.id,
      name: 'anna',
      address: '192.0.2.9',
      settings: defaultSettings({ failureFactor: 1 }),
    })
    const answer = await browser.signIn('shop', 'anna', PASSWORD)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(site.hasher.evaluated).toBe(0)
    expect(site.logins).toEqual([])
  })

  it('counts the address of the peer, whatever an untrusted peer writes into X-Forwarded-For', async () => {
    const { open, browser } = await start()
    for (const header of ['203.0.113.7', '203.0.113.8, 10.0.0.1', 'nonsense', ''])
      await browser.signIn('shop', 'anna', 'wrong', { headers: { 'x-forwarded-for': header } })
    expect(await guards(open)).toEqual(['addr:127.0.0.1'])
  })

  it('counts the address that a trusted proxy hands over, and refuses one that is none', async () => {
    const { open, site, browser } = await start({ trustedProxies: '127.0.0.1/32' })
    const via = (header: string) =>
      browser.signIn('shop', 'anna', 'wrong', { headers: { 'x-forwarded-for': header } })
    expect((await via('198.51.100.1, 203.0.113.7')).status).toBe(401)
    expect((await via('2001:db8::17')).status).toBe(401)
    expect(await guards(open)).toEqual(['addr:2001:db8::/64', 'addr:203.0.113.7'])
    const before = site.hasher.evaluated
    expect((await via('nonsense')).status).toBe(400)
    expect(site.hasher.evaluated).toBe(before)
  })

  // What is not counted is the same on both databases.
  if (backend !== backends[0]) return

  it('lets parallel right forms pass with real hashes', async () => {
    const real = createHasher(await loadEngine())
    started.push(real)
    const { open, site } = await start({ hasher: { ...createCountingHasher(), ...real } })
    const secret = await real.hash(PASSWORD)
    await open.storage.commit([
      { sql: `update credentials set secret = '${secret}'`, parameters: [] },
    ])
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { status } = await new TestBrowser(site.url).signIn('shop', 'anna', PASSWORD)
        return status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([303]))
    const wrong = await new TestBrowser(site.url).signIn('shop', 'anna', 'wrong')
    expect(wrong.status).toBe(401)
  })

  it('reads small forms only, and nothing but forms', async () => {
    const { site, browser } = await start()
    await browser.get('/realms/shop/login')
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const fields = { username: 'anna', password: PASSWORD, _csrf }
    const path = '/realms/shop/login'
    const large = await browser.post(path, { ...fields, more: 'x'.repeat(20_000) })
    expect(large.status).toBe(413)
    expect(large.headers.get('content-type')).toContain('text/html')
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x'])
      expect((await browser.post(path, fields, { 'content-type': type })).status).toBe(415)
    expect(site.hasher.evaluated).toBe(0)
  })

  it('fails closed on empty, doubled and broken fields', async () => {
    const { site, browser } = await start()
    await browser.get('/realms/shop/login')
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const right = encodeURIComponent(PASSWORD)
    for (const fields of [
      '',
      'username=&password=',
      `username=anna&username=anna&password=${right}`,
      `username[]=anna&password=${right}`,
      `username=anna&password=${right}&password=${right}`,
      `username=anna%00&password=${right}`,
      `username=%F0%9F&password=${right}`,
      `username=${'x'.repeat(4000)}&password=${right}`,
    ]) {
      const { status } = await browser.post('/realms/shop/login', `${fields}&_csrf=${_csrf}`)
      expect([fields, status]).toEqual([fields, 401])
    }
    expect(site.logins).not.toContain('shop success')
  })

  it('shows what was typed as text', async () => {
    const { browser } = await start()
    const { body } = await browser.signIn('shop', '"><script>alert(1)</script>', 'wrong')
    expect(body).not.toContain('<script>')
    expect(body).toContain('&lt;script&gt;')
  })

  it('leads nowhere but to the own sign-in page', async () => {
    const { browser } = await start()
    const query = '?redirect_uri=https://evil.example&next=//evil.example'
    await browser.get(`/realms/shop/login${query}`)
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const fields = { username: 'anna', password: PASSWORD, _csrf, next: 'https://evil.example' }
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const { location } = await browser.post(`/realms/shop/login${query}`, fields, headers)
    expect(location).toBe('/realms/shop/login')
  })

  it('sets cookies that only this host can have set, where the base URL is https', async () => {
    const { browser } = await start({ baseUrl: 'https://iam.example' })
    const form = await browser.get('/realms/shop/login')
    expect(form.setCookies).toEqual([
      expect.stringMatching(
        /^__Host-iam-login-shop=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
      expect.stringMatching(/^XSRF-TOKEN=[\w-]{43}; Path=\/; Secure; SameSite=Strict$/),
    ])
    const { setCookies } = await browser.signIn('shop', 'anna', PASSWORD)
    const session = setCookies.find((line) => line.includes('session'))
    expect(session).toMatch(
      /^__Host-iam-session-shop=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
  })
})
