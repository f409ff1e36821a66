/** Sign-ins that ask for more than a password, over HTTP, with real mail. */

import { describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { auditOf } from '../../users/fixture.ts'
import { withNewcomers } from '../newcomers.ts'
import { password, type SignInBrowser, tokenIn, type World } from '../world.ts'

describe.each(backends)('sign-in flows on $name', (backend) => {
  let world: World
  let browser: SignInBrowser
  let username = ''
  let userId = ''
  let count = 0
  const login = '/realms/shop/login'

  withNewcomers(backend, 'anna', async (...arrived) => {
    ;[world, username, count] = arrived
    userId = await world.addUser(username, { emailVerified: true })
    browser = world.browser()
    await world.forgetMail()
    await world.setFlow(
      [
        { authenticator: 'username-password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [
        { authenticator: 'condition-user-has-factor' },
        { authenticator: 'totp', requirement: 'ALTERNATIVE' },
        { authenticator: 'webauthn', requirement: 'ALTERNATIVE' },
        { authenticator: 'recovery-code', requirement: 'ALTERNATIVE' },
      ],
    )
  })

  const signIn = async (one = browser) => {
    await one.open(login)
    return one.submit({ username, password })
  }
  const events = async () =>
    (await auditOf(world.server.areas.storage, 'shop'))
      .filter(({ actor }) => actor === userId)
      .map(({ type }) => type)

  it('asks a user who has an authenticator app for a code, and opens no session before', async () => {
    const code = await world.addTotp(userId)
    const page = await signIn()
    expect(browser.path).toMatch(/^\/realms\/shop\/login\/[\w-]{43}$/)
    expect(page.body).toContain('name="code"')
    expect(browser.isSignedIn('shop')).toBe(false)
    await browser.submit({ code: code() })
    expect(browser.isSignedIn('shop')).toBe(true)
    expect(await events()).toEqual(
      expect.arrayContaining(['MFA_CHALLENGE', 'MFA_SUCCESS', 'LOGIN_SUCCESS']),
    )
    const session = await world.server.areas.storage.db
      .selectFrom('sessions')
      .selectAll()
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow()
    expect([session.acr, JSON.parse(session.amr)]).toEqual(['2', ['pwd', 'otp']])
  })

  it('takes each code once, and none of another time', async () => {
    const code = await world.addTotp(userId)
    await signIn()
    const used = code()
    await browser.submit({ code: used })
    const second = world.browser()
    await signIn(second)
    expect((await second.submit({ code: used })).status).toBe(401)
    world.clock.advance(10 * 60_000)
    expect((await second.submit({ code: used })).status).toBe(401)
    await second.submit({ code: code() })
    expect(second.isSignedIn('shop')).toBe(true)
  })

  it('counts wrong codes with wrong passwords, and a right password does not wipe the count', async () => {
    const code = await world.addTotp(userId)
    for (let round = 0; round < 5; round += 1) {
      const one = world.browser()
      await signIn(one)
      await one.submit({ code: '000000' })
      await one.submit({ code: '111111' })
    }
    const last = world.browser()
    await signIn(last)
    expect(last.page?.status).toBe(401)
    await last.submit({ code: code() })
    expect(last.isSignedIn('shop')).toBe(false)
    expect(await events()).toContain('USER_LOCKED')
  })

  it('offers another way, and a recovery code is good once', async () => {
    await world.addTotp(userId)
    const made = await world.must('POST', `/users/${userId}/credentials`, {
      type: 'recovery-codes',
    })
    const [recovery] = made.codes
    await signIn()
    const choice = await browser.submit({ step: 'other' })
    const method = /name="method" value="([^"]+)"/.exec(choice.body)?.[1] ?? ''
    await browser.submit({ method })
    expect(browser.page?.body).toContain('ecovery')
    await browser.submit({ code: recovery.toLowerCase() })
    expect(browser.isSignedIn('shop')).toBe(true)
    const second = world.browser()
    await signIn(second)
    const again = await second.submit({ step: 'other' })
    await second.submit({ method: /name="method" value="([^"]+)"/.exec(again.body)?.[1] ?? '' })
    expect((await second.submit({ code: recovery })).status).toBe(401)
  })

  it('goes on only in the browser that it began in, and in each tab by itself', async () => {
    const code = await world.addTotp(userId)
    await signIn()
    const first = browser.path
    const stranger = world.browser()
    expect((await stranger.open(first)).status).toBe(403)
    await signIn()
    const second = browser.path
    expect(second).not.toBe(first)
    await browser.open(first)
    await browser.submit({ code: code() })
    expect(browser.isSignedIn('shop')).toBe(true)
    const { status, location } = await browser.open(first)
    expect([status, location]).toEqual([303, login])
  })

  it('is over after half an hour, and says so', async () => {
    await world.addTotp(userId)
    await signIn()
    const { path } = browser
    world.clock.advance(31 * 60_000)
    const page = await browser.open(path)
    expect(page.status).toBe(403)
    expect(page.body).toContain(login)
  })

  it('keeps to the flow that it began with', async () => {
    const code = await world.addTotp(userId)
    await signIn()
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    await browser.submit({ code: code() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('asks again by the same form without harm, and takes the form of an earlier step for no answer', async () => {
    await world.addTotp(userId)
    await signIn()
    const page = browser.page
    const { status } = await browser.submit({ username, password })
    expect(status).toBe(400)
    expect(page?.body).toContain('name="code"')
    expect(await events()).not.toContain('MFA_FAILURE')
  })

  it('asks for the name first, and looks the same for one that nobody has', async () => {
    await world.setFlow([{ authenticator: 'identify' }, { authenticator: 'password' }])
    await browser.open(login)
    const known = await browser.submit({ username })
    const other = world.browser()
    await other.open(login)
    const unknown = await other.submit({ username: 'nobody-at-all' })
    const shape = (body: string) =>
      body
        .replaceAll(/[\w-]{43,}/g, '')
        .replaceAll(username, 'X')
        .replaceAll('nobody-at-all', 'X')
    expect(shape(unknown.body)).toBe(shape(known.body))
    expect((await other.submit({ password })).status).toBe(401)
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('sends a code by mail, lets nobody guess it, and sends another after a pause only', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    await signIn()
    const code = await world.mailedCode()
    expect(code).toMatch(/^\d{6}$/)
    expect((await browser.submit({ step: 'resend' })).status).toBe(429)
    expect((await browser.submit({ code: code === '123456' ? '654321' : '123456' })).status).toBe(
      401,
    )
    await browser.submit({ code })
    expect(browser.isSignedIn('shop')).toBe(true)
    const second = world.browser()
    await signIn(second)
    const old = await world.mailedCode()
    world.clock.advance(31_000)
    await second.submit({ step: 'resend' })
    const fresh = await world.mailedCode()
    if (old !== fresh) expect((await second.submit({ code: old })).status).toBe(401)
    await second.submit({ code: fresh })
    expect(second.isSignedIn('shop')).toBe(true)
  })

  it('signs in by a link, in the browser that asked for it, once, and only when the button is pressed', async () => {
    await world.setFlow([{ authenticator: 'identify' }, { authenticator: 'email-link' }])
    await browser.open(login)
    await browser.submit({ username })
    const link = await world.mailedLink()
    const stranger = world.browser()
    expect((await stranger.open(link)).status).toBe(403)
    await browser.open(link)
    expect(browser.isSignedIn('shop')).toBe(false)
    const token = tokenIn(link)
    await browser.submit({ token })
    expect(browser.isSignedIn('shop')).toBe(true)
    expect((await browser.open(link)).status).toBe(403)
  })

  it('sets a forgotten password anew wherever the mail is read, for that browser alone, and the factor stays', async () => {
    const code = await world.addTotp(userId)
    await world.must('PUT', `/users/${userId}/required-actions`, ['webauthn-register'])
    await browser.open(`${login}/forgot`)
    await browser.submit({ username })
    const began = browser.path
    const link = await world.mailedLink()
    const phone = world.browser()
    await phone.open(link)
    const token = tokenIn(link)
    await phone.submit({ token })
    expect((await browser.open(began)).status).toBe(403)
    const fresh = 'another secret, long enough 9'
    await phone.submit({ password: fresh, passwordConfirm: fresh, signOutOthers: 'true' })
    expect(phone.isSignedIn('shop')).toBe(false)
    expect(phone.page?.body).toContain('name="username"')
    expect(await events()).toContain('RESET_PASSWORD')
    await world.must('PUT', `/users/${userId}/required-actions`, [])
    await phone.open(login)
    await phone.submit({ username, password: fresh })
    await phone.submit({ code: code() })
    expect(phone.isSignedIn('shop')).toBe(true)
  })

  it('tells nobody by a forgotten password whether there is an account', async () => {
    const answers: string[] = []
    for (const name of [`${username}@shop.example`, 'nobody@shop.example']) {
      const one = world.browser()
      await one.open(`${login}/forgot`)
      const page = await one.submit({ username: name })
      answers.push(
        page.body
          .replaceAll(/[\w-]{43,}/g, '')
          .replaceAll(/[an]…/g, '')
          .replaceAll(name, ''),
      )
    }
    expect(answers[1]).toBe(answers[0])
    await world.settle()
    expect(world.mail.mails.map(({ to }) => to)).toEqual([[`${username}@shop.example`]])
  })

  it('registers users where the realm allows it, and has their address verified', async () => {
    const one = world.browser()
    expect((await one.open(`${login}/register`)).status).toBe(404)
    await world.settings({ registrationAllowed: true, verifyEmail: true })
    await one.open(`${login}/register`)
    const fields = {
      username: `new-${count}`,
      email: `new-${count}@shop.example`,
      firstName: 'N',
      lastName: 'W',
    }
    expect((await one.submit({ ...fields, password: 'short' })).status).toBe(400)
    expect((await one.submit({ ...fields, username, password })).body).toContain('aria-invalid')
    await one.submit({ ...fields, password })
    expect(one.isSignedIn('shop')).toBe(false)
    await one.submit({ code: await world.mailedCode() })
    expect(one.isSignedIn('shop')).toBe(true)
    const user = await world.server.areas.users.store.find('shop', fields.username)
    expect([user?.email_verified, user?.first_name]).toEqual([1, 'N'])
    await world.settings({ registrationAllowed: false, verifyEmail: false })
  })

  it('registers nobody in a browser flow of a realm that does not allow it', async () => {
    const either = (authenticator: string) => ({
      authenticator,
      requirement: 'ALTERNATIVE' as const,
    })
    const fields = { email: `new-${count}@shop.example`, firstName: 'N', lastName: 'W', password }
    const flows = [
      [{ authenticator: 'register' }],
      [either('register'), either('username-password')],
    ]
    for (const [index, flow] of flows.entries()) {
      await world.settings({ registrationAllowed: true })
      await world.setFlow(flow)
      const name = `new-${count}-${index}`
      const register = async () => {
        const browser = world.browser()
        await browser.open(login)
        await browser.submit({ ...fields, username: name })
        return browser
      }
      await world.settings({ registrationAllowed: false })
      expect((await register()).isSignedIn('shop'), name).toBe(false)
      expect(await world.server.areas.users.store.find('shop', name)).toBeUndefined()
      await world.settings({ registrationAllowed: true })
      expect((await register()).isSignedIn('shop'), name).toBe(true)
      await world.must(
        'DELETE',
        `/users/${(await world.server.areas.users.store.find('shop', name))?.id}`,
      )
    }
    await world.settings({ registrationAllowed: false })
    await world.setFlow([{ authenticator: 'username-password' }])
  })

  it('asks for what is required of the user: a new password, an app, recovery codes', async () => {
    const path = `/users/${userId}/required-actions`
    await world.must('PUT', path, [
      'UPDATE_PASSWORD',
      'CONFIGURE_TOTP',
      'CONFIGURE_RECOVERY_AUTHN_CODES',
    ])
    await signIn()
    const fresh = 'another secret, long enough 9'
    expect((await browser.submit({ password: fresh, passwordConfirm: 'x' })).status).toBe(400)
    expect((await browser.submit({ password, passwordConfirm: password })).status).toBe(400)
    await browser.submit({ password: fresh, passwordConfirm: fresh })
    const { TOTP, Secret } = await import('otpauth')
    const secret = /secret=([A-Z2-7]+)/.exec(browser.page?.body ?? '')?.[1] ?? ''
    const shown =
      secret ||
      (/[A-Z2-7]{4}(?: [A-Z2-7]{4}){7}/.exec(browser.page?.body ?? '')?.[0] ?? '').replaceAll(
        ' ',
        '',
      )
    const totp = new TOTP({ secret: Secret.fromBase32(shown), digits: 6, period: 30 })
    expect((await browser.submit({ code: '000000', label: 'phone' })).status).toBe(400)
    await browser.submit({ code: totp.generate({ timestamp: world.clock.now() }), label: 'phone' })
    expect(browser.page?.body).toMatch(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/)
    expect(browser.isSignedIn('shop')).toBe(false)
    await browser.submit({ saved: 'true' })
    expect(browser.isSignedIn('shop')).toBe(true)
    expect(await world.must('GET', path)).toEqual([])
  })

  it('lets in who accepts the terms, once, and records it', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'terms' }])
    await signIn()
    expect((await browser.submit({ decision: 'decline' })).status).toBe(403)
    expect(browser.isSignedIn('shop')).toBe(false)
    expect(await events()).not.toContain('ACCEPT_TERMS')
    await signIn()
    await browser.submit({ decision: 'accept' })
    expect(browser.isSignedIn('shop')).toBe(true)
    const second = world.browser()
    await signIn(second)
    expect(second.isSignedIn('shop')).toBe(true)
    expect((await events()).filter((type) => type === 'ACCEPT_TERMS')).toHaveLength(1)
  })

  it('tells a user by mail that failures have locked the account, and of locks in a row the first', async () => {
    await world.settings({ failureFactor: 2 })
    const wrong = async (): Promise<void> => {
      const one = world.browser()
      await one.open(login)
      await one.submit({ username, password: 'wrong' })
    }
    await wrong()
    await world.settle()
    expect(world.mail.mails).toEqual([])
    await wrong()
    await world.settle()
    expect(world.mail.mails.map(({ to }) => to)).toEqual([[`${username}@shop.example`]])
    // Without the line breaks of quoted-printable (RFC 2045 §6.7).
    const text = world.mail.mails[0]?.raw.replaceAll('=\r\n', '')
    expect(text).toContain('locked for 1 minute.')
    world.clock.advance(5 * 60_000)
    await wrong()
    await wrong()
    await world.settle()
    expect((await events()).filter((type) => type === 'USER_LOCKED')).toHaveLength(2)
    expect(world.mail.mails).toHaveLength(1)
    await world.settings({ failureFactor: 10 })
  })

  it('lets nobody in by a flow that leads nowhere', async () => {
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'sms-code' }])
    await browser.open(login)
    const answer = await browser.submit({ username, password })
    expect(answer.status).toBe(403)
    expect(browser.isSignedIn('shop')).toBe(false)
    await expect(world.setFlow([{ authenticator: 'identify' }])).rejects.toThrow('no-proof')
  })
})
