/** All proofs of a sign-in belong to one user: naming another user discards them. */

import { beforeEach, describe, expect, it } from 'vitest'
import { personOf } from '../../self-service/person.ts'
import { backends } from '../../support/backends.ts'
import { auditOf } from '../../users/fixture.ts'
import { withNewcomers } from '../newcomers.ts'
import { password, type World } from '../world.ts'

const login = '/realms/shop/login'
const stepUp = `${login}?authorization=account-security-strong`
const bossPassword = 'known to the boss alone 5'

describe.each(backends)('one user a sign-in on $name', (backend) => {
  let world: World
  let [mallory, malloryId, boss, bossId] = ['', '', '', '']
  withNewcomers(backend, 'mallory', async (...arrived) => {
    ;[world, mallory] = arrived
    boss = mallory.replace('mallory', 'boss')
    malloryId = await world.addUser(mallory, { emailVerified: true })
    bossId = await world.addUser(boss, { emailVerified: true })
    await world.must('PUT', `/users/${bossId}/password`, { newPassword: bossPassword })
  })

  const sessionsOf = (userId: string) =>
    world.server.areas.storage.db
      .selectFrom('sessions')
      .selectAll()
      .where('user_id', '=', userId)
      .execute()

  const ifFactor = [
    { authenticator: 'condition-user-has-factor' },
    { authenticator: 'totp', requirement: 'ALTERNATIVE' as const },
  ]
  const identifyFirst = () =>
    world.setFlow(
      [
        { authenticator: 'identify' },
        { authenticator: 'password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      ifFactor,
    )

  describe('while a session is strengthened', () => {
    beforeEach(async () => {
      await identifyFirst()
      await world.addTotp(malloryId)
    })

    it('asks for what the session lacks, and takes the name of no other user', async () => {
      const { browser } = await personOf(world, malloryId)
      await browser.open(stepUp)
      expect(browser.page?.body).toContain('name="code"')
      await browser.submit({ username: boss })
      expect(await sessionsOf(bossId)).toEqual([])
    })

    it('refuses a user whom a later step makes', async () => {
      await world.settings({ registrationAllowed: true })
      await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'register' }])
      const { browser } = await personOf(world, malloryId)
      await browser.open(stepUp)
      const fields = { username: `new-${boss}`, email: `new-${boss}@shop.example`, password }
      const answer = await browser.submit({ ...fields, firstName: 'N', lastName: 'N' })
      expect(answer.status).toBe(401)
      expect(await world.server.areas.users.store.find('shop', fields.username)).toBeUndefined()
      const failures = await auditOf(world.server.areas.storage, 'shop')
      expect(failures.map(({ detail }) => detail)).toContain('other-user')
    })

    it('ends with the session that it strengthens', async () => {
      await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
      const { browser } = await personOf(world, malloryId)
      await browser.open(stepUp)
      const code = await world.mailedCode()
      const [session] = await sessionsOf(malloryId)
      await world.must('DELETE', `/sessions/${session?.sid}`)
      expect((await browser.submit({ code })).status).toBe(403)
      expect(await sessionsOf(malloryId)).toEqual([])
    })

    it('counts nothing of a session in which an administrator acts as the user', async () => {
      await world.setFlow([
        { authenticator: 'username-password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ])
      const { browser } = await personOf(world, malloryId, {
        impersonator: world.server.admin.userId,
      })
      await browser.open(stepUp)
      expect(browser.page?.body).toContain('name="username"')
    })

    it('counts nothing of the session where a password is set anew', async () => {
      const { browser } = await personOf(world, malloryId)
      await browser.open(`${login}/forgot?authorization=account-security-strong`)
      expect(browser.page?.body).toContain('name="username"')
      expect(browser.page?.body).not.toContain(mallory)
    })
  })

  it('begins with nothing where a later step names another user', async () => {
    await world.setFlow([
      { authenticator: 'username-password' },
      { authenticator: 'identify' },
      { authenticator: 'terms' },
    ])
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username: mallory, password })
    await browser.submit({ username: boss })
    await browser.submit({ decision: 'accept' })
    expect(await sessionsOf(bossId)).toEqual([])
  })

  it('asks the conditions anew for the user who is named last', async () => {
    await world.addTotp(bossId)
    await world.setFlow(
      [
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
        { authenticator: 'identify' },
        { authenticator: 'password' },
      ],
      [{ authenticator: 'condition-user-has-factor' }, { authenticator: 'username-password' }],
    )
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username: mallory })
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(true)
    const other = world.browser()
    await other.open(login)
    await other.submit({ username: boss })
    await other.submit({ password: bossPassword })
    expect(other.isSignedIn('shop')).toBe(false)
    await other.submit({ username: boss, password: bossPassword })
    await other.submit({ password: bossPassword })
    expect(other.isSignedIn('shop')).toBe(true)
  })

  it('takes a name that nobody has for no proof of the user before', async () => {
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'identify' },
      { authenticator: 'password' },
    ])
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username: mallory })
    await browser.submit({ username: 'nobody-at-all' })
    await browser.submit({ username: 'nobody-at-all' })
    expect((await browser.submit({ password })).status).toBe(401)
    expect(await sessionsOf(malloryId)).toEqual([])
    await browser.open(login)
    for (const name of [mallory, `${mallory}@shop.example`])
      await browser.submit({ username: name })
    await browser.submit({ password })
    expect(await sessionsOf(malloryId)).toHaveLength(1)
  })
})
