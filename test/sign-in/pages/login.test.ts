import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import { backends, type OpenBackend } from '../../support/backends.ts'
import { addUser, auditOf } from '../../users/fixture.ts'
import { openSite, type Site, TestBrowser, withoutChallenge } from '../fixture.ts'

const PASSWORD = 'right password'

describe.each(backends)('signing in on $name', (backend) => {
  let open: OpenBackend
  let site: Site
  let browser: TestBrowser
  let realm = ''
  let anna: UserRow
  let count = 0

  beforeAll(async () => {
    open = await backend.open()
    site = await openSite(open.storage)
    await site.realm('master', { enabled: false })
  })
  afterAll(async () => {
    await site.close()
    await open.close()
  })
  beforeEach(async () => {
    count += 1
    realm = `shop-${count}`
    await site.realm(realm)
    anna = await addUser(site, realm, {
      username: 'anna',
      email: 'anna@x.example',
      firstName: 'Anna',
      password: PASSWORD,
    })
    browser = new TestBrowser(site.url)
    site.logins.length = 0
  })

  const login = () => `/realms/${realm}/login`
  const sessionName = () => `iam-session-${realm}`
  const isSignedIn = async (one = browser): Promise<boolean> =>
    (await one.get(login())).body.includes('You are signed in')

  it('goes from form and CSRF cookie to session, new CSRF token and signed-in page', async () => {
    const form = await browser.get(login())
    expect(form.status).toBe(200)
    expect(form.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(form.headers.get('cache-control')).toBe('no-store')
    const before = browser.cookies.get('XSRF-TOKEN') ?? ''
    expect(form.body).toContain(`name="_csrf" value="${before}"`)

    const fields = { username: 'anna', password: PASSWORD, _csrf: before }
    const answer = await browser.post(login(), fields)
    expect(answer.status).toBe(303)
    expect(answer.location).toBe(login())
    expect(browser.cookies.get(sessionName())).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(browser.cookies.has(`iam-login-${realm}`)).toBe(false)
    const after = browser.cookies.get('XSRF-TOKEN')
    expect(after).not.toBe(before)

    const page = await browser.get(login())
    expect(page.body).toContain('You are signed in')
    expect(page.body).toContain('anna')
    expect(browser.cookies.get('XSRF-TOKEN')).toBe(after)
    expect(await auditOf(open.storage, realm)).toEqual([
      { type: 'LOGIN_SUCCESS', actor: anna.id, detail: null },
    ])
    expect(site.logins).toEqual([`${realm} success`])
  })

  it('accepts the email address, in any spelling, where the realm does', async () => {
    expect((await browser.signIn(realm, ' ＡNNA\uff20X.example', PASSWORD)).status).toBe(303)
    await site.realm(realm, { loginWithEmailAllowed: false })
    const other = new TestBrowser(site.url)
    expect((await other.signIn(realm, 'anna@x.example', PASSWORD)).status).toBe(401)
    expect((await other.signIn(realm, 'ANNA', PASSWORD)).status).toBe(303)
  })

  it('refuses in order: no such realm 404, CSRF 403, credentials 401', async () => {
    const nowhere = await browser.get('/realms/nowhere/login')
    expect(nowhere.status).toBe(404)
    expect(nowhere.setCookies).toEqual([])
    expect((await browser.post('/realms/nowhere/login', {})).status).toBe(404)
    const wrong = { username: 'anna', password: 'wrong' }
    expect((await browser.post(login(), wrong)).status).toBe(403)
    expect((await browser.signIn(realm, 'anna', 'wrong')).status).toBe(401)
    expect((await browser.signIn(realm, 'anna', PASSWORD)).status).toBe(303)
  })

  it('evaluates nothing without the CSRF token of this browser and this realm', async () => {
    await site.realm(`${realm}-b`)
    const stranger = new TestBrowser(site.url)
    await stranger.get(login())
    const foreign = stranger.cookies.get('XSRF-TOKEN') ?? ''
    await browser.get(`/realms/${realm}-b/login`)
    const ofOtherRealm = browser.cookies.get('XSRF-TOKEN') ?? ''
    await browser.get(login())
    const own = browser.cookies.get('XSRF-TOKEN') ?? ''
    const before = site.hasher.evaluated
    const credentials = `username=anna&password=${encodeURIComponent(PASSWORD)}`
    for (const given of [
      credentials,
      `${credentials}&_csrf=`,
      `${credentials}&_csrf=${foreign}`,
      `${credentials}&_csrf=${ofOtherRealm}`,
      `${credentials}&_csrf=${own}&_csrf=${own}`,
    ]) {
      const answer = await browser.post(login(), given)
      expect(answer.status).toBe(403)
      expect(answer.body).toContain('name="_csrf"')
    }
    expect(site.hasher.evaluated).toBe(before)
    // The same pre-login value in both realms: its tokens still differ.
    browser.cookies.set(`iam-login-${realm}`, browser.cookies.get(`iam-login-${realm}-b`) ?? '')
    expect((await browser.post(login(), `${credentials}&_csrf=${ofOtherRealm}`)).status).toBe(403)
    browser.cookies.delete(`iam-login-${realm}`)
    expect((await browser.post(login(), `${credentials}&_csrf=${own}`)).status).toBe(403)
    expect(site.hasher.evaluated).toBe(before)
    expect(await auditOf(open.storage, realm)).toEqual([])
  })

  it('answers the same to whatever is wrong, after the same work', async () => {
    await addUser(site, realm, { username: 'user1', password: PASSWORD, enabled: false })
    await addUser(site, realm, { username: 'user2', password: PASSWORD, locked: true })
    await addUser(site, realm, { username: 'user3' })
    const answers = new Set<string>()
    for (const [name, password] of [
      ['nobdy', PASSWORD],
      ['anna', 'wrong'],
      ['user1', PASSWORD],
      ['user2', PASSWORD],
      ['user3', ''],
    ] as const) {
      const before = site.hasher.evaluated
      const { status, body, headers, setCookies } = await browser.signIn(realm, name, password)
      expect(site.hasher.evaluated - before).toBe(1)
      const names = [...headers.keys()].filter((header) => header !== 'content-length')
      const page = withoutChallenge(body).replaceAll(`value="${name}"`, 'value="…"')
      answers.add(JSON.stringify({ status, page, names, cookies: setCookies.length }))
    }
    expect(answers.size).toBe(1)
    expect([...answers][0]).toContain('"status":401')
    const details = (await auditOf(open.storage, realm)).map(({ detail }) => detail)
    expect(details).toEqual([
      'unknown-user',
      'wrong-password',
      'user-disabled',
      'user-locked',
      'wrong-password',
    ])
    expect(site.logins).toEqual(Array(5).fill(`${realm} failure`))
  })

  it('answers a locked user with the page of a wrong password and evaluates nothing', async () => {
    await site.realm(realm, { failureFactor: 2 })
    const first = await browser.signIn(realm, 'anna', 'wrong')
    await browser.signIn(realm, 'anna', 'wrong')
    const before = site.hasher.evaluated
    const locked = await browser.signIn(realm, 'anna', PASSWORD)
    expect(site.hasher.evaluated).toBe(before)
    expect(locked.status).toBe(first.status)
    expect(withoutChallenge(locked.body)).toBe(withoutChallenge(first.body))
    site.clock.advance(60)
    expect((await browser.signIn(realm, 'anna', PASSWORD)).status).toBe(303)
  })

  it('gives out nothing that worked before: planted cookies are worthless after a sign-in', async () => {
    const attacker = new TestBrowser(site.url)
    await attacker.get(login())
    const planted = 'p'.repeat(43)
    browser.cookies.set(sessionName(), planted)
    const login1 = attacker.cookies.get(`iam-login-${realm}`) ?? ''
    browser.cookies.set(`iam-login-${realm}`, login1)
    expect((await browser.signIn(realm, 'anna', PASSWORD)).status).toBe(303)
    expect(browser.cookies.get(sessionName())).not.toBe(planted)

    attacker.cookies.set(sessionName(), planted)
    expect(await isSignedIn(attacker)).toBe(false)
    attacker.cookies.set(sessionName(), login1)
    expect(await isSignedIn(attacker)).toBe(false)
    expect(await isSignedIn()).toBe(true)
  })

  it('ends the session that the browser had, also that of another user', async () => {
    const ben = await addUser(site, realm, { username: 'ben', password: PASSWORD })
    await browser.signIn(realm, 'anna', PASSWORD)
    const old = browser.cookies.get(sessionName()) ?? ''
    const oldToken = browser.cookies.get('XSRF-TOKEN')
    expect((await browser.signIn(realm, 'ben', PASSWORD)).status).toBe(303)
    expect(browser.cookies.get('XSRF-TOKEN')).not.toBe(oldToken)
    const page = await browser.get(login())
    expect(page.body).toContain('ben')
    const thief = new TestBrowser(site.url)
    thief.cookies.set(sessionName(), old)
    expect(await isSignedIn(thief)).toBe(false)
    const sessions = await open.storage.db
      .selectFrom('sessions')
      .select('user_id')
      .where('realm', '=', realm)
      .execute()
    expect(sessions).toEqual([{ user_id: ben.id }])
  })

  it('leaves no session behind when the user is disabled at the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = await addUser(site, realm, { username: `u${round}`, password: PASSWORD })
      const off = changedUserRow(user, { enabled: false }, 1)
      const browsers = Array.from({ length: 4 }, () => new TestBrowser(site.url))
      const signingIn = browsers.map((one) => one.signIn(realm, `u${round}`, PASSWORD))
      await Promise.race(signingIn)
      await open.storage.commit([
        ...site.users.updateStatements(user, off),
        ...site.sessions.revokeAllOf(user.id),
      ])
      await Promise.all(signingIn)
      const left = await open.storage.db
        .selectFrom('sessions')
        .select('sid')
        .where('user_id', '=', user.id)
        .execute()
      expect(left).toEqual([])
    }
  })

  it('refuses a session that is deleted, unused or too old on the next request', async () => {
    await browser.signIn(realm, 'anna', PASSWORD)
    await open.storage.commit(site.sessions.revokeAllOf(anna.id))
    expect(await isSignedIn()).toBe(false)
    await browser.signIn(realm, 'anna', PASSWORD)
    site.clock.advance(1860)
    expect(await isSignedIn()).toBe(false)
    await browser.signIn(realm, 'anna', PASSWORD)
    for (let used = 0; used < 36_000; used += 1800) {
      expect(await isSignedIn()).toBe(true)
      site.clock.advance(1800)
    }
    expect(await isSignedIn()).toBe(false)
  })

  it('signs in a user who still has something to do', async () => {
    const eager = { username: 'new', password: PASSWORD, requiredActions: ['UPDATE_PASSWORD'] }
    await addUser(site, realm, eager)
    expect((await browser.signIn(realm, 'new', PASSWORD)).status).toBe(303)
  })

  it('lets nobody into a realm that is switched off, and everybody into master', async () => {
    await browser.signIn(realm, 'anna', PASSWORD)
    await site.realm(realm, { enabled: false })
    expect(await isSignedIn()).toBe(false)
    const before = site.hasher.evaluated
    const refused = await browser.signIn(realm, 'anna', PASSWORD)
    expect(refused.status).toBe(403)
    expect(site.hasher.evaluated).toBe(before)
    expect((await auditOf(open.storage, realm)).at(-1)).toMatchObject({ detail: 'realm-disabled' })

    await addUser(site, 'master', { username: `root-${realm}`, password: PASSWORD })
    const root = new TestBrowser(site.url)
    expect((await root.signIn('master', `root-${realm}`, PASSWORD)).status).toBe(303)
  })

  it('remembers the browser only where the realm offers it', async () => {
    const box = { fields: { rememberMe: 'true' } }
    const plain = await browser.signIn(realm, 'anna', PASSWORD, box)
    expect(plain.setCookies.join()).not.toContain('Max-Age=36000')
    await site.realm(realm, { rememberMe: true })
    const kept = await new TestBrowser(site.url).signIn(realm, 'anna', PASSWORD, box)
    expect(kept.setCookies.find((line) => line.startsWith(sessionName()))).toContain(
      'Max-Age=36000',
    )
  })
})
