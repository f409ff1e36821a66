/** A factor is enrolled only after a proof of the user; the username alone is not enough (CVE-2025-3910, CVE-2026-3429). */

import { describe, expect, it } from 'vitest'
import { personOf } from '../self-service/person.ts'
import { backends } from '../support/backends.ts'
import { storeFlow } from './flows/stored-flow.ts'
import { withNewcomers } from './newcomers.ts'
import { password, type World } from './world.ts'

const login = '/realms/shop/login'
const fresh = 'another secret, long enough 9'

describe.each(backends)('setting up a factor during a sign-in on $name', (backend) => {
  let world: World
  let [username, userId] = ['', '']
  withNewcomers(backend, 'boss', async (...arrived) => {
    ;[world, username] = arrived
    userId = await world.addUser(username, { emailVerified: true })
  })

  const credentials = () =>
    world.server.areas.storage.db
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('id')
      .execute()
  const enrols = /name="label"/

  it.each(['totp', 'webauthn'])(
    'is not offered to whoever gives a name, whatever flow is stored: %s',
    async (authenticator) => {
      await storeFlow(world, 'browser', [{ authenticator: 'identify' }, { authenticator }])
      const browser = world.browser()
      await browser.open(login)
      const { body } = await browser.submit({ username })
      expect(body).not.toMatch(enrols)
      expect(browser.isSignedIn('shop')).toBe(false)
    },
  )

  it('opens no way to a new password either', async () => {
    await storeFlow(world, 'reset-credentials', [
      { authenticator: 'identify' },
      { authenticator: 'totp' },
      { authenticator: 'reset-password' },
    ])
    const before = await credentials()
    const browser = world.browser()
    await browser.open(`${login}/forgot`)
    expect((await browser.submit({ username })).body).not.toMatch(enrols)
    await browser.submit({ password: fresh, passwordConfirm: fresh })
    expect(await credentials()).toEqual(before)
  })

  it.each(['terms', 'organization', 'reset-password'])(
    'nothing of the user is told or changed before a proof: %s',
    async (authenticator) => {
      for (const alias of ['acme', 'umbrella']) {
        const name = `${alias}-${username}`
        const { id } = await world.must('POST', '/organizations', { alias: name, name })
        await world.must('PUT', `/organizations/${id}/members/${userId}`)
      }
      await storeFlow(world, 'browser', [
        { authenticator: 'identify' },
        { authenticator },
        { authenticator: 'password' },
      ])
      const before = [await credentials(), await world.must('GET', `/users/${userId}`)]
      const browser = world.browser()
      await browser.open(login)
      const { body } = await browser.submit({ username })
      expect(body).not.toContain('umbrella')
      await browser.submit({ decision: 'accept', password: fresh, passwordConfirm: fresh })
      expect([await credentials(), await world.must('GET', `/users/${userId}`)]).toEqual(before)
      expect(browser.isSignedIn('shop')).toBe(false)
    },
  )

  it('follows a password in the same sign-in', async () => {
    await storeFlow(world, 'browser', [
      { authenticator: 'username-password' },
      { authenticator: 'totp' },
    ])
    const browser = world.browser()
    await browser.open(login)
    expect((await browser.submit({ username, password })).body).toMatch(enrols)
  })

  it('follows a session that is fresh; whoever has left the screen signs in anew', async () => {
    await storeFlow(world, 'browser', [
      { authenticator: 'username-password' },
      { authenticator: 'totp' },
    ])
    const stepUp = `${login}?authorization=account-security-strong`
    const { browser } = await personOf(world, userId)
    expect((await browser.open(stepUp)).body).toMatch(enrols)
    world.clock.advance(16 * 60_000)
    const late = (await browser.open(stepUp)).body
    expect(late).not.toMatch(enrols)
    expect(late).toContain('name="password"')
  })
})
