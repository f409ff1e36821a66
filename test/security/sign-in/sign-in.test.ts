/** Advisories about sign-in, recovery and second factors of comparable products, as attacks on a running server. */

import { describe, expect, it } from 'vitest'
import { withNewcomers } from '../../sign-in/newcomers.ts'
import { password, type SignInBrowser, tokenIn, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const [backend] = backends
if (!backend) throw new Error('there is no database to test on')

describe('sign-in under attack', () => {
  const realm = 'shop'
  const login = `/realms/${realm}/login`
  let world: World
  let count = 0
  let username = ''
  let userId = ''

  withNewcomers(backend, 'anna', async (...arrived) => {
    ;[world, username, count] = arrived
    userId = await world.addUser(username)
    await world.forgetMail()
  })

  const signIn = async (browser: SignInBrowser, name = username) => {
    await browser.open(login)
    return browser.submit({ username: name, password })
  }
  it('sets by a recovery link the password of its own user alone, once (CVE-2023-26481, CVE-2026-37982)', async () => {
    const victim = username
    const thief = await world.addUser(`thief-${count}`)
    expect(thief).not.toBe(userId)
    username = `thief-${count}`
    const browser = world.browser()
    await browser.open(`${login}/forgot`)
    await browser.submit({ username })
    const link = await world.mailedLink()
    const reader = world.browser()
    await reader.open(link)
    await reader.submit({ token: tokenIn(link), username: victim, userId })
    const fresh = 'another secret, long enough 9'
    await reader.submit({
      password: fresh,
      passwordConfirm: fresh,
      username: victim,
      userId,
      user_id: userId,
    })
    const [own, others] = [world.browser(), world.browser()]
    await own.open(login)
    await own.submit({ username, password: fresh })
    expect(own.isSignedIn(realm)).toBe(true)
    await others.open(login)
    await others.submit({ username: victim, password: fresh })
    expect(others.isSignedIn(realm)).toBe(false)
    // What was used leads nowhere, in this browser or another.
    for (const again of [reader, world.browser()]) {
      const answer = await again.open(link)
      expect(answer.status).toBe(403)
      expect(answer.body).not.toContain('name="password"')
    }
  })

  it('asks for the second factor whatever address is opened meanwhile (MFA bypass by navigation)', async () => {
    const code = await world.addTotp(userId)
    const browser = world.browser()
    await signIn(browser)
    const waiting = browser.path
    for (const path of [
      login,
      `${login}?notice=password-changed`,
      `${login}/forgot`,
      `/realms/${realm}/account`,
      `/realms/${realm}/account/profile`,
      `${waiting}?choose`,
      `${waiting}/status`,
    ]) {
      await browser.get(path)
      expect(browser.isSignedIn(realm), path).toBe(false)
    }
    // Empty answers and those of other steps are none (CVE-2026-49443, CVE-2024-47070).
    await browser.open(waiting)
    const forms: Record<string, string>[] = [
      {},
      { code: '' },
      { username, password },
      { saved: 'true', decision: 'accept', organization: '' },
      { password, passwordConfirm: password },
    ]
    for (const form of forms) {
      await browser.submit(form)
      expect(browser.isSignedIn(realm), JSON.stringify(form)).toBe(false)
    }
    await browser.open(waiting)
    await browser.submit({ code: code() })
    expect(browser.isSignedIn(realm)).toBe(true)
  })

  it('takes no proof of one sign-in for that of another (MFA bypass by another handle)', async () => {
    await world.addTotp(userId)
    const other = `other-${count}`
    const code = await world.addTotp(await world.addUser(other))
    const [mine, theirs] = [world.browser(), world.browser()]
    await signIn(mine, other)
    await signIn(theirs)
    // An attacker with a second account sends its code, and its cookie, for the first account.
    await theirs.submit({ code: code() })
    expect(theirs.isSignedIn(realm)).toBe(false)
    const stolen = theirs.path
    const answer = await mine.get(stolen)
    expect(answer.status).toBe(403)
    const _csrf = mine.cookies.get('XSRF-TOKEN') ?? ''
    expect((await mine.post(stolen, { _csrf, code: code() })).status).toBe(403)
    expect(mine.isSignedIn(realm)).toBe(false)
  })

  it('shows names and parameters as text, on every page that repeats them (CVE-2026-37980)', async () => {
    const script = '<img src=x onerror=alert(1)>"\'><script>alert(1)</script>'
    await world.must('POST', '/organizations', { alias: `x-${count}`, name: script })
    await world.must('POST', '/organizations', { alias: `y-${count}`, name: 'plain' })
    const organizations = (await world.must('GET', '/organizations')) as { id: string }[]
    for (const { id } of organizations)
      await world.must('PUT', `/organizations/${id}/members/${userId}`)
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'organization' }])
    const browser = world.browser()
    const chooser = await signIn(browser)
    const encoded = encodeURIComponent(script)
    const first = world.browser()
    await first.open(login)
    const pages = [
      chooser,
      await first.submit({ username: script, password: 'x' }),
      await first.get(`${login}?notice=${encoded}&error=${encoded}&login_hint=${encoded}`),
      await first.get(`${login}/${encoded}`),
      await first.get(`/realms/${encoded}/login`),
    ]
    expect(chooser.body).toContain('&lt;img src=x')
    for (const { body, headers } of pages) {
      expect(body).not.toContain('<img src=x')
      expect(body).not.toContain('<script>alert')
      expect(headers.get('content-security-policy')).toMatch(/script-src 'self'|default-src 'none'/)
    }
    await world.setFlow([{ authenticator: 'username-password' }])
  })

  it('leads to no other site after a sign-in, whatever the address says (open redirect)', async () => {
    for (const target of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      const browser = world.browser()
      const names = ['redirect', 'redirect_uri', 'next', 'continue', 'returnTo', 'lang']
      const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, target])))
      await browser.get(`${login}?${query}`)
      const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
      const answer = await browser.post(`${login}?${query}`, { username, password, _csrf })
      expect(answer.status).toBe(303)
      expect(answer.location).toBe(login)
    }
  })
})
