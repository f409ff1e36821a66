/**
 * A sign-in that waits for its last step ends with the sessions of its user: what was proved in it may have been taken away
 * meanwhile. The terms are that step here: they ask for nothing that an attacker would lack.
 */

import { describe, expect, it } from 'vitest'
import { personOf, strong } from '../../self-service/person.ts'
import { backends } from '../../support/backends.ts'
import { withNewcomers } from '../newcomers.ts'
import { password, type SignInBrowser, type World } from '../world.ts'

const login = '/realms/shop/login'
const replaced = 'another secret, long enough 9'

describe.each(backends)('a sign-in in progress on $name', (backend) => {
  let world: World
  let [username, userId] = ['', '']
  withNewcomers(backend, 'half', async (...arrived) => {
    ;[world, username] = arrived
    userId = await world.addUser(username, { emailVerified: true })
    await world.settings({ resetPasswordAllowed: true })
  })

  const change = (fields: Record<string, unknown>) =>
    world.must('PUT', `/users/${userId}`, {
      username,
      email: `${username}@shop.example`,
      emailVerified: true,
      ...fields,
    })
  /** Knows the password, and stops before the terms. */
  const halfway = async (...more: string[]): Promise<SignInBrowser> => {
    await change({ requiredActions: ['TERMS_AND_CONDITIONS', ...more] })
    const browser = world.browser()
    await browser.open(login)
    const { body } = await browser.submit({ username, password })
    expect(body).toContain('name="decision"')
    return browser
  }
  const expectOver = async (browser: SignInBrowser) => {
    const { status } = await browser.submit({ decision: 'accept' })
    expect([status, browser.isSignedIn('shop')]).toEqual([403, false])
  }

  it('goes on as long as nothing happens', async () => {
    const browser = await halfway()
    await browser.submit({ decision: 'accept' })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('ends when an administrator sets the password', async () => {
    const attacker = await halfway()
    await world.must('PUT', `/users/${userId}/password`, { newPassword: replaced })
    await expectOver(attacker)
  })

  it('ends when the user changes the password and signs out others', async () => {
    const attacker = await halfway()
    const { api } = await personOf(world, userId, strong)
    const changed = { currentPassword: password, newPassword: replaced, signOutOthers: true }
    expect((await api('PUT', '/password', changed)).status).toBe(204)
    await expectOver(attacker)
  })

  it('ends when the user signs out everywhere else', async () => {
    const attacker = await halfway()
    const { api } = await personOf(world, userId, strong)
    expect((await api('DELETE', '/sessions')).status).toBeLessThan(300)
    await expectOver(attacker)
  })

  it('ends when the user was disabled, also if enabled again at once', async () => {
    const attacker = await halfway()
    await change({ enabled: false })
    await change({ enabled: true, requiredActions: ['TERMS_AND_CONDITIONS'] })
    await expectOver(attacker)
  })

  it('ends when the user chooses a new password at the sign-in, which itself goes on', async () => {
    const attacker = await halfway('UPDATE_PASSWORD')
    const owner = world.browser()
    await owner.open(login)
    await owner.submit({ username, password })
    await owner.submit({ decision: 'accept' })
    const chosen = { password: replaced, passwordConfirm: replaced, signOutOthers: 'true' }
    await owner.submit(chosen)
    expect(owner.isSignedIn('shop')).toBe(true)
    await change({ requiredActions: ['TERMS_AND_CONDITIONS'] })
    await expectOver(attacker)
  })

  it('ends when the forgotten password is reset, which itself goes on', async () => {
    const attacker = await halfway()
    const owner = world.browser()
    await owner.open(`${login}/forgot`)
    await owner.submit({ username })
    await owner.open(await world.mailedLink())
    await owner.submit({ token: new URL(owner.path, 'http://x').searchParams.get('token') ?? '' })
    const chosen = { password: replaced, passwordConfirm: replaced, signOutOthers: 'true' }
    expect((await owner.submit(chosen)).status).toBe(200)
    const again = world.browser()
    await again.open(login)
    expect((await again.submit({ username, password: replaced })).body).toContain('name="decision"')
    await expectOver(attacker)
  })
})
