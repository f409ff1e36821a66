/** An old session is no proof: a step-up from it neither passes required actions nor makes the session recent. */

import { describe, expect, it } from 'vitest'
import { personOf } from '../../self-service/person.ts'
import { backends } from '../../support/backends.ts'
import { withNewcomers } from '../newcomers.ts'
import { password, type World } from '../world.ts'

const login = '/realms/shop/login'
const stepUp = `${login}?authorization=account-security-strong`
const replaced = 'another secret, long enough 9'
const minutes = 60_000

describe.each(backends)('a step-up from an old session on $name', (backend) => {
  let world: World
  let [username, userId] = ['', '']
  withNewcomers(backend, 'olga', async (...arrived) => {
    ;[world, username] = arrived
    userId = await world.addUser(username, { emailVerified: true })
  })

  const requires = (...requiredActions: string[]) =>
    world.must('PUT', `/users/${userId}`, {
      username,
      email: `${username}@shop.example`,
      emailVerified: true,
      requiredActions,
    })
  const asksPassword = /autocomplete="current-password/
  const pages = {
    TERMS_AND_CONDITIONS: /name="decision"/,
    UPDATE_PASSWORD: /name="passwordConfirm"/,
    UPDATE_PROFILE: /name="lastName"/,
    VERIFY_PROFILE: /name="lastName"/,
    UPDATE_EMAIL: /name="email"/,
    CONFIGURE_TOTP: /name="label"/,
    'webauthn-register': /name="label"/,
    CONFIGURE_RECOVERY_AUTHN_CODES: /name="saved"/,
  }
  const actions = Object.entries(pages)

  it.each(actions)('asks for the password before %s', async (action, page) => {
    await requires(action)
    const { browser } = await personOf(world, userId)
    world.clock.advance(16 * minutes)
    const { body } = await browser.open(stepUp)
    expect(body).not.toMatch(page)
    expect(body).toMatch(asksPassword)
    expect((await browser.submit({ username, password })).body).toMatch(page)
  })

  it.each(actions)('is asked for %s at once by a session that is recent', async (action, page) => {
    await requires(action)
    const { browser } = await personOf(world, userId)
    expect((await browser.open(stepUp)).body).toMatch(page)
  })

  it.each(['a user', 'an administrator'])('sets no new password for %s', async (who) => {
    if (who === 'an administrator')
      await world.must('POST', `/users/${userId}/roles`, { name: 'admin' })
    await requires('UPDATE_PASSWORD')
    const { browser } = await personOf(world, userId)
    world.clock.advance(16 * minutes)
    await browser.open(stepUp)
    await browser.submit({ password: replaced, passwordConfirm: replaced })
    const other = world.browser()
    await other.open(login)
    expect((await other.submit({ username, password })).body).toMatch(pages.UPDATE_PASSWORD)
  })

  it('sets no new password for one that has expired', async () => {
    const { passwordPolicy } = await world.must('GET', '/settings')
    await world.settings({ passwordPolicy: { ...passwordPolicy, forceExpiredPasswordChange: 1 } })
    try {
      world.clock.advance(25 * 60 * minutes)
      const { browser } = await personOf(world, userId)
      expect((await browser.open(stepUp)).body).toMatch(pages.UPDATE_PASSWORD)
      world.clock.advance(16 * minutes)
      const late = (await browser.open(stepUp)).body
      expect(late).not.toMatch(pages.UPDATE_PASSWORD)
      expect(late).toMatch(asksPassword)
    } finally {
      await world.settings({ passwordPolicy })
    }
  })

  it('does not go on with an action whose page was opened while the session was recent', async () => {
    await requires('TERMS_AND_CONDITIONS', 'UPDATE_PASSWORD')
    const { browser } = await personOf(world, userId)
    await browser.open(stepUp)
    expect((await browser.submit({ decision: 'accept' })).body).toMatch(pages.UPDATE_PASSWORD)
    world.clock.advance(16 * minutes)
    const late = await browser.submit({ password: replaced, passwordConfirm: replaced })
    expect(late.status).toBe(403)
    const other = world.browser()
    await other.open(login)
    expect((await other.submit({ username, password })).body).toMatch(pages.UPDATE_PASSWORD)
  })

  it('leaves a session as old as it was, where it proves nothing', async () => {
    await requires('TERMS_AND_CONDITIONS')
    const { browser } = await personOf(world, userId)
    world.clock.advance(10 * minutes)
    await browser.open(stepUp)
    await browser.submit({ decision: 'accept' })
    await requires('UPDATE_PASSWORD')
    expect((await browser.open(stepUp)).body).toMatch(pages.UPDATE_PASSWORD)
    world.clock.advance(6 * minutes)
    expect((await browser.open(stepUp)).body).toMatch(asksPassword)
  })

  it('passes required actions after the second factor', async () => {
    const code = await world.addTotp(userId)
    await requires('UPDATE_PROFILE')
    const { browser } = await personOf(world, userId)
    world.clock.advance(16 * minutes)
    expect((await browser.open(stepUp)).body).toContain('name="code"')
    expect((await browser.submit({ code: code() })).body).toMatch(pages.UPDATE_PROFILE)
  })
})
